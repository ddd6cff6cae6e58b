package cutover_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/rmw"
)

const stageKey = "~cutover:{desk}"

func doc(epoch int, rest string) string {
	return fmt.Sprintf(`{"version":1,"epoch":%d,%s}`, epoch, rest)
}

// poll starts a Poller of both stores.
func poll(t *testing.T, old, new *place) *cutover.Poller {
	p := cutover.FromKey("desk", old, new)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

// nextPoll waits for a poll that begins after the call.
func nextPoll() {
	time.Sleep(2 * time.Second)
	synctest.Wait()
}

// polled is what both stores have during a poll, and the result.
type polled struct {
	old, new string // a document, none (""), down or hangs
	want     string // the epoch and the stage
	trouble  string // of Err; "": none
	fails    error  // calls
}

// Each row is a process that starts, and polls.
func TestStageOfEachPoll(t *testing.T) {
	copying := func(epoch, percent int) string {
		return doc(epoch, fmt.Sprintf(`"stage":"copying","percent":%d`, percent))
	}
	five, nine, ended := copying(3, 5), copying(4, 9), doc(5, `"stage":"complete"`)
	labels := doc(1, `"stage":"copying","percent":3,"labels":["room"],"freeze":true`)
	newer := `{"version":2,"epoch":3,"phase":{"of":"the future"}}`
	begun := doc(1, `"stage":"follow"`)
	const none, is5, is9 = "0 follow", "3 copying 5 %", "4 copying 9 %"
	// A process that starts must not take a missing answer for Follow: if the cut-over is complete, it would create
	// keys in the old store.
	unknown := func(old, new string) []polled {
		return []polled{{old, new, "0 follow", "store", rmw.ErrUnavailable}, {down, ended, "5 complete", "down", nil}}
	}
	for name, polls := range map[string][]polled{
		"none":                   {{"", "", "0 follow", "", nil}},
		"same":                   {{five, five, is5, "", nil}},
		"the old store is ahead": {{nine, five, is9, "epoch 3", nil}},
		"the new store is ahead": {{five, nine, is9, "epoch 3", nil}},
		// A process whose new store is another one serves keys that the others do not see, and so does one with
		// another old store.
		"the new store has none":           {{nine, "", none, "wrong new store", rmw.ErrInvalid}},
		"the old store has none":           {{"", nine, is9, "wrong old store", rmw.ErrInvalid}},
		"the new store has none, complete": {{ended, "", none, "wrong new store", rmw.ErrInvalid}},
		"the old store has none, complete": {{"", ended, "5 complete", "no stage document", nil}},
		"the new store has none, follow":   {{begun, "", "1 follow", "no stage document", nil}},
		"the new store loses its document": {
			{nine, nine, is9, "", nil}, {nine, "", is9, "wrong new store", rmw.ErrInvalid}, {nine, nine, is9, "", nil},
		},
		"the new store is not complete": {{five, five, is5, "", nil}, {ended, five, is5, "publish it again", nil}},
		// A process that starts afterwards would be at Follow.
		"complete is lost": {
			{ended, ended, "5 complete", "", nil}, {"", "", "5 complete", "the new store has lost its stage document", rmw.ErrInvalid},
			{ended, ended, "5 complete", "", nil}, {"", ended, "5 complete", "no stage document", nil},
			{down, "", "5 complete", "the new store has lost its stage document", rmw.ErrInvalid},
		},
		"same epoch, another stage":           {{copying(4, 1), nine, "4 copying 1 %", "epoch 4", nil}},
		"one is broken":                       {{`{"version":1,`, nine, is9, "no stage document", nil}},
		"labels and freeze":                   {{labels, labels, "1 copying 3 % of room, frozen", "", nil}},
		"the old store hangs":                 {{hangs, ended, "5 complete", "deadline", nil}},
		"the new store hangs":                 {{ended, hangs, "5 complete", "deadline", nil}},
		"unknown, both fail":                  unknown(down, down),
		"unknown, the old one fails":          unknown(down, ""),
		"unknown, the new one fails":          unknown("", down),
		"unknown, the new one hangs":          unknown("", hangs),
		"unknown, one is broken":              unknown("{}", ""),
		"unknown, a document lacks its epoch": unknown(doc(0, `"stage":"follow"`), ""),
		"a smaller epoch is ignored": {
			{nine, nine, is9, "", nil}, {five, five, is9, "epoch 3", nil}, {ended, ended, "5 complete", "", nil},
			{down, nine, "5 complete", "epoch 4", nil},
		},
		"the stage stays": {
			{five, five, is5, "", nil}, {down, down, is5, "down", nil}, {"oops", " ", is5, "no stage document", nil},
			{doc(9, `"stage":"shadow"`), doc(9, `"stage":"copying","percent":101`), is5, "Percent is 101", nil},
			{doc(9, `"stage":"copying","precent":9`), doc(0, `"stage":"follow"`), is5, "precent", nil},
			{"", "", is5, "no stage document", nil},
		},
		"a newer version": {
			{five, five, is5, "", nil}, {five, newer, is5, "version 2", rmw.ErrInvalid}, {down, newer, is5, "down", rmw.ErrInvalid},
			{down, down, is5, "down", rmw.ErrInvalid}, {nine, nine, is9, "", nil},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				old, new := &place{}, &place{}
				var p *cutover.Poller
				for i, poll := range polls {
					old.become(poll.old)
					new.become(poll.new)
					if i == 0 {
						p = cutover.FromKey("desk", old, new)
						poll.require(t, p)
					}
					nextPoll()
					poll.require(t, p)
					if poll.trouble == "" {
						assert.NoError(t, p.Err())
					} else {
						assert.ErrorContains(t, p.Err(), poll.trouble)
					}
					if poll.fails != nil {
						_, err := cutover.New(side(old), side(new), cutover.Config{Stage: p}).Update(t.Context(), room, add("x"))
						require.ErrorIs(t, err, poll.fails)
						assert.Zero(t, old.writes+new.writes)
					}
				}
				require.NoError(t, p.Close())
			})
		})
	}
}

func (p polled) require(t *testing.T, source cutover.Source) {
	t.Helper()
	got, err := source.Stage(t.Context())
	require.ErrorIs(t, err, p.fails)
	assert.NotErrorIs(t, err, context.DeadlineExceeded, "a timeout of the poll is not that of the call")
	assert.Equal(t, p.want, fmt.Sprintf("%d %v", got.Epoch, got))
	switch {
	case errors.Is(p.fails, rmw.ErrUnavailable):
		assert.ErrorContains(t, err, "no stage is known yet")
	case errors.Is(p.fails, rmw.ErrInvalid) && strings.Contains(p.trouble, "store"):
		assert.ErrorContains(t, err, p.trouble)
	case errors.Is(p.fails, rmw.ErrInvalid):
		assert.ErrorContains(t, err, "deploy a newer build")
	}
}

// A second cut-over of the old store has the same name. Its processes are refused: they have another new store, so they
// would create keys that the others have.
func TestTwoCutOversOfOneName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old, new, another := &place{}, &place{}, &place{}
		ours, running := poll(t, old, new), poll(t, old, another)
		require.NoError(t, publish(t.Context(), old, new, forward))
		nextPoll()
		require.NoError(t, publish(t.Context(), old, new, complete))
		nextPoll()
		got, err := ours.Stage(t.Context())
		require.NoError(t, err)
		assert.Equal(t, cutover.Complete, got.Phase)
		require.NoError(t, ours.Err())
		for _, theirs := range []*cutover.Poller{running, poll(t, old, another)} {
			got, err = theirs.Stage(t.Context())
			require.ErrorIs(t, err, rmw.ErrInvalid)
			require.ErrorContains(t, err, "give a cut-over to another store another name")
			assert.Equal(t, cutover.Follow, got.Phase)
		}
	})
}

// A poll between the two writes of a Publish sees one document only, and fails no call.
func TestPollDuringPublish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old, new := &place{}, &place{}
		p := poll(t, old, new)
		nextPoll()
		for range 200 {
			old.become(doc(1, `"stage":"copying"`))
			time.Sleep(50 * time.Millisecond)
			_, err := p.Stage(t.Context())
			require.NoError(t, err)
			new.become(doc(1, `"stage":"copying"`))
			time.Sleep(time.Second - 3*time.Millisecond)
			old.become("")
			new.become("")
		}
	})
}

// A Publish is no trouble of a process that polls between its two writes: a heartbeat of that moment would bar the next step.
func TestPublishIsNoTrouble(t *testing.T) {
	for _, phase := range []string{`"stage":"follow"`, `"stage":"copying"`} {
		synctest.Test(t, func(t *testing.T) {
			old, new := &place{}, &place{}
			p := poll(t, old, new)
			nextPoll()
			for epoch := range 200 {
				old.become(doc(epoch+1, phase))
				time.Sleep(50 * time.Millisecond)
				require.NoError(t, p.Err())
				new.become(doc(epoch+1, phase))
				time.Sleep(time.Second - 3*time.Millisecond)
				require.NoError(t, p.Err())
			}
		})
	}
}

func TestPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old, new := &place{}, &place{}
		p := cutover.FromKey("desk", old, new)
		time.Sleep(100 * time.Second)
		synctest.Wait()
		assert.InDelta(t, 100, old.reads, 10)
		assert.Equal(t, old.reads, new.reads)

		// A freeze is seen within two seconds while the new store hangs.
		new.become(hangs)
		for epoch := 1; epoch <= 20; epoch++ {
			old.become(doc(epoch, `"stage":"copying","freeze":true`))
			nextPoll()
			got, err := p.Stage(t.Context())
			require.NoError(t, err)
			assert.EqualValues(t, epoch, got.Epoch)
		}

		// Close does not wait for a store that hangs, and ends the polls; synctest finds a goroutine
		// that is left.
		began := time.Now()
		require.NoError(t, p.Close())
		require.NoError(t, p.Close())
		assert.Zero(t, time.Since(began))
		got, err := p.Stage(t.Context())
		require.NoError(t, err)
		assert.EqualValues(t, 20, got.Epoch)
	})
}

func TestStageWaitsForTheFirstPollOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old, new := &place{hangs: true}, &place{hangs: true}
		p := cutover.FromKey("desk", old, new)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := p.Stage(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, p.Close())
		_, err = p.Stage(t.Context())
		require.ErrorIs(t, err, rmw.ErrClosed)
	})
}

func TestStageAnswersFromMemory(t *testing.T) {
	old, new := &place{}, &place{}
	old.become(doc(1, `"stage":"copying","labels":["room"]`))
	new.become(doc(1, `"stage":"copying","labels":["room"]`))
	p := poll(t, old, new)
	_, err := p.Stage(t.Context())
	require.NoError(t, err)
	assert.Zero(t, testing.AllocsPerRun(100, func() { _, _ = p.Stage(t.Context()) }))
}

func TestSourceThatCannotWork(t *testing.T) {
	for name, p := range map[string]*cutover.Poller{
		"no name": cutover.FromKey("", &place{}, &place{}),
		"braces":  cutover.FromKey("a{b}", &place{}, &place{}),
		"nil":     cutover.FromKey("desk", nil, &place{}),
	} {
		_, err := p.Stage(t.Context())
		assert.ErrorIs(t, err, rmw.ErrInvalid, name)
		require.NoError(t, p.Close())
	}
}

func TestFromFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stage.json")
	synctest.Test(t, func(t *testing.T) {
		p := cutover.FromFile(path)
		_, err := p.Stage(t.Context())
		require.ErrorIs(t, err, rmw.ErrUnavailable)
		assert.ErrorContains(t, err, "no such file")
		require.NoError(t, os.WriteFile(path, []byte(doc(1, `"stage":"copying","percent":5`)), 0o600))
		nextPoll()
		require.NoError(t, p.Err())
		require.NoError(t, os.Remove(path))
		nextPoll()
		require.ErrorContains(t, p.Err(), "no such file")
		got, err := p.Stage(t.Context())
		require.NoError(t, err)
		assert.Equal(t, cutover.Stage{Epoch: 1, Phase: cutover.Copying, Percent: 5}, got)
		require.NoError(t, p.Close())
	})
}

func TestFromHTTP(t *testing.T) {
	answer := func(status int, text string) roundTrip {
		return func(*http.Request) (*http.Response, error) {
			w := httptest.NewRecorder()
			w.WriteHeader(status)
			_, _ = w.WriteString(text)
			return w.Result(), nil
		}
	}
	for name, tc := range map[string]struct {
		answer roundTrip
		want   string
	}{
		"document": {answer(200, doc(4, `"stage":"reverse"`)), ""},
		"status":   {answer(404, doc(4, `"stage":"reverse"`)), "404"},
		"garbage":  {answer(200, "<html>"), "no stage document"},
		"error":    {func(*http.Request) (*http.Response, error) { return nil, errors.New("refused") }, "refused"},
		"hangs":    {func(r *http.Request) (*http.Response, error) { <-r.Context().Done(); return nil, r.Context().Err() }, "deadline"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := cutover.FromHTTP(&http.Client{Transport: tc.answer}, "http://user:secret@flags/desk?token=secret")
				got, err := p.Stage(t.Context())
				if tc.want == "" {
					require.NoError(t, err)
					assert.Equal(t, at(4, reverse), got)
				} else {
					require.ErrorIs(t, err, rmw.ErrUnavailable)
					assert.ErrorContains(t, err, tc.want)
					assert.NotContains(t, err.Error(), "secret")
				}
				require.NoError(t, p.Close())
			})
		})
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// place is a Store in memory that can fail.
type place struct {
	mu     sync.Mutex
	values map[string]rmw.Value
	err    error
	hangs  bool
	reads  int
	writes int
	before func() // a write is executed
}

var errDown = fmt.Errorf("%w: down", rmw.ErrUnavailable)

func (p *place) Read(ctx context.Context, key rmw.Key) (rmw.Value, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hangs {
		p.mu.Unlock()
		<-ctx.Done()
		p.mu.Lock()
	}
	if err := ctx.Err(); err != nil {
		return rmw.Value{}, err
	}
	p.reads++
	return p.values[key.Name], p.err
}

func (p *place) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	if p.before != nil {
		p.before()
	}
	if p.mu.Lock(); p.hangs {
		p.mu.Unlock()
		<-ctx.Done()
		p.mu.Lock()
	}
	defer p.mu.Unlock()
	if err := cmp.Or(p.err, ctx.Err()); err != nil {
		return rmw.Result{}, err
	}
	next, err := fn(ctx, p.values[key.Name])
	if err != nil {
		return rmw.Result{}, err
	}
	res := rmw.Result{Before: p.values[key.Name], After: next, Written: true}
	p.writes++
	p.put(key.Name, next)
	return res, nil
}

func (p *place) put(name string, v rmw.Value) {
	if p.values == nil {
		p.values = map[string]rmw.Value{}
	}
	p.values[name] = v
}

// States of a place, besides a stage document.
const up, down, hangs = "up", "down", "hangs"

// become gives the place a stage document, none (""), or one of the states. It is up, unless it is down or hangs.
func (p *place) become(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err, p.hangs = nil, text == hangs
	switch text {
	case up, hangs:
	case down:
		p.err = errDown
	case "":
		delete(p.values, stageKey)
	default:
		p.put(stageKey, rmw.String(text))
	}
}

func (p *place) document() string { return p.values[stageKey].Text() }

// side is a place, and a client that sends nothing.
func side(p *place) cutover.Side { return cutover.Side{Store: p, Redis: mute{}} }

type mute struct{}

func (mute) Process(context.Context, redis.Cmder) error { return errDown }
func (mute) Pipeline() redis.Pipeliner                  { return nil }
