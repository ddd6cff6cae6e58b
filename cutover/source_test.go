package cutover_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/rmw"
)

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

func TestStageComesFromBothStores(t *testing.T) {
	nine := cutover.Stage{Epoch: 4, Phase: cutover.Copying, Percent: 9}
	frozen := `"stage":"reverse","labels":["room"],"freeze":true`
	copying := func(percent int) string { return fmt.Sprintf(`"stage":"copying","percent":%d`, percent) }
	for _, tc := range []struct {
		name     string
		old, new string
		want     cutover.Stage
		trouble  string
	}{
		{"none", "", "", cutover.Stage{}, ""},
		{"same", doc(3, copying(5)), doc(3, copying(5)), cutover.Stage{Epoch: 3, Phase: cutover.Copying, Percent: 5}, ""},
		{"the old store is ahead", doc(4, copying(9)), doc(3, copying(5)), nine, "epoch 3"},
		{"the new store is ahead", doc(3, copying(5)), doc(4, copying(9)), nine, "epoch 3"},
		{"the new store has none", doc(4, copying(9)), "", nine, "no stage document"},
		{"the old store has none", "", doc(4, copying(9)), nine, "no stage document"},
		{"same epoch, another stage", doc(4, copying(1)), doc(4, copying(9)), cutover.Stage{Epoch: 4, Phase: cutover.Copying, Percent: 1}, "epoch 4"},
		{"one is broken", `{"version":1,`, doc(4, copying(9)), nine, "no stage document"},
		{"labels and freeze", doc(1, frozen), doc(1, frozen),
			cutover.Stage{Epoch: 1, Phase: cutover.Reverse, Labels: []string{"room"}, Freeze: true}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				old, new := &place{}, &place{}
				if tc.old != "" {
					old.set(tc.old)
				}
				if tc.new != "" {
					new.set(tc.new)
				}
				p := poll(t, old, new)
				got, err := p.Stage(t.Context())
				require.NoError(t, err)
				assert.Equal(t, tc.want, got)
				nextPoll()
				got, err = p.Stage(t.Context())
				require.NoError(t, err)
				assert.Equal(t, tc.want, got)
				if tc.trouble == "" {
					assert.NoError(t, p.Err())
				} else {
					assert.ErrorContains(t, p.Err(), tc.trouble)
				}
			})
		})
	}
}

func TestSmallerEpochIsIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old, new := &place{}, &place{}
		both := func(text string) { old.set(text); new.set(text) }
		both(doc(7, `"stage":"copying","percent":50`))
		p := poll(t, old, new)
		is := func(percent int) {
			t.Helper()
			nextPoll()
			got, err := p.Stage(t.Context())
			require.NoError(t, err)
			assert.Equal(t, percent, got.Percent)
		}
		is(50)
		both(doc(6, `"stage":"copying","percent":40`))
		is(50)
		assert.ErrorContains(t, p.Err(), "epoch 6")
		both(doc(8, `"stage":"copying","percent":60`))
		is(60)
		old.fail(errDown)
		new.set(doc(7, `"stage":"copying","percent":50`))
		is(60)
	})
}

func TestStageStaysWhileStoresFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old, new := &place{}, &place{}
		old.set(doc(2, `"stage":"copying","percent":5`))
		new.set(doc(2, `"stage":"copying","percent":5`))
		p := poll(t, old, new)
		nextPoll()
		for _, trouble := range []func(){
			func() { old.fail(errDown); new.fail(errDown) },
			func() { old.fail(nil); new.fail(nil); old.set("oops"); new.set("") },
			func() { old.set(doc(3, `"stage":"shadow"`)); new.set(doc(3, `"stage":"copying","percent":101`)) },
			func() { old.set(doc(3, `"stage":"copying","precent":9`)); new.set(doc(0, `"stage":"follow"`)) },
			func() { old.clear(); new.clear() },
		} {
			trouble()
			nextPoll()
			got, err := p.Stage(t.Context())
			require.NoError(t, err)
			assert.Equal(t, 5, got.Percent)
			assert.Error(t, p.Err())
		}
	})
}

// A process that starts must not take an answer that is missing for Follow: if the cut-over is
// complete, it would create keys in the old store.
// A second cut-over of the old store has the same name. Complete of one does not complete the other, whose new
// store lacks the keys.
func TestTwoCutOversOfOneName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old, new, another := &place{}, &place{}, &place{}
		ours, theirs := poll(t, old, new), poll(t, old, another)
		require.NoError(t, publish(t.Context(), old, new, forward))
		nextPoll()
		require.NoError(t, publish(t.Context(), old, new, cutover.Stage{Phase: cutover.Complete}))
		nextPoll()
		got, err := ours.Stage(t.Context())
		require.NoError(t, err)
		assert.Equal(t, cutover.Complete, got.Phase)
		require.NoError(t, ours.Err())
		got, err = theirs.Stage(t.Context())
		require.NoError(t, err)
		assert.Equal(t, cutover.Copying, got.Phase)
		require.ErrorContains(t, theirs.Err(), "publish it again, unless a cut-over to another store has this name")
		_, err = poll(t, old, another).Stage(t.Context())
		require.ErrorIs(t, err, rmw.ErrUnavailable, "a process that starts knows no stage")
		require.ErrorContains(t, err, "a cut-over to another store has this name")
	})
}

func TestUnknownStageFailsCalls(t *testing.T) {
	for name, start := range map[string]func(old, new *place){
		"both fail":         func(old, new *place) { old.fail(errDown); new.fail(errDown) },
		"the old one fails": func(old, new *place) { old.fail(errDown) },
		"the new one fails": func(old, new *place) { new.fail(errDown) },
		"the new one hangs": func(old, new *place) { new.hangs = true },
		"one is broken":     func(old, new *place) { old.set("{}") },
		"no epoch":          func(old, new *place) { old.set(doc(0, `"stage":"follow"`)) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				old, new := &place{}, &place{}
				start(old, new)
				p := poll(t, old, new)
				_, err := p.Stage(t.Context())
				require.ErrorIs(t, err, rmw.ErrUnavailable)
				assert.NotErrorIs(t, err, context.DeadlineExceeded)
				assert.ErrorContains(t, err, "no stage is known yet")
				s := cutover.New(side(old), side(new), cutover.Config{Stage: p})
				_, err = s.Read(t.Context(), room)
				require.ErrorIs(t, err, rmw.ErrUnavailable)
				new.mu.Lock()
				new.hangs = false
				new.mu.Unlock()
				old.fail(errDown)
				new.fail(nil)
				new.set(doc(2, `"stage":"complete"`))
				nextPoll()
				got, err := p.Stage(t.Context())
				require.NoError(t, err)
				assert.Equal(t, cutover.Complete, got.Phase)
			})
		})
	}
}

// A document of a newer version fails calls, and the last stage stays.
func TestNewerVersionIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old, new := &place{}, &place{}
		both := func(text string) { old.set(text); new.set(text) }
		both(doc(2, `"stage":"copying","percent":5`))
		p := poll(t, old, new)
		s := cutover.New(side(old), side(new), cutover.Config{Stage: p})
		refused := func() {
			t.Helper()
			nextPoll()
			got, err := p.Stage(t.Context())
			require.ErrorIs(t, err, rmw.ErrInvalid)
			assert.ErrorContains(t, err, "deploy a newer build")
			assert.Equal(t, 5, got.Percent)
			_, err = s.Update(t.Context(), room, add("x"))
			require.ErrorIs(t, err, rmw.ErrInvalid)
			assert.ErrorContains(t, err, "version 2")
			assert.Zero(t, old.writes+new.writes)
		}
		nextPoll()
		new.set(`{"version":2,"epoch":3,"phase":{"of":"the future"}}`)
		refused()
		old.fail(errDown)
		refused()
		new.fail(errDown)
		refused() // although neither store tells of the version now
		old.fail(nil)
		new.fail(nil)
		require.ErrorIs(t, cutover.Publish(t.Context(), "desk", old, new, reverse), rmw.ErrInvalid)
		refused()
		both(doc(3, `"stage":"copying","percent":6`))
		nextPoll()
		got, err := p.Stage(t.Context())
		require.NoError(t, err)
		assert.Equal(t, 6, got.Percent)
	})
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
		new.mu.Lock()
		new.hangs = true
		new.mu.Unlock()
		for epoch := 1; epoch <= 20; epoch++ {
			old.set(doc(epoch, `"stage":"copying","freeze":true`))
			time.Sleep(2 * time.Second)
			synctest.Wait()
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

// One store hangs, and the other one has the document.
func TestStageComesFromTheStoreThatAnswers(t *testing.T) {
	for i := range 2 {
		synctest.Test(t, func(t *testing.T) {
			places := [2]*place{{}, {}}
			places[i].hangs = true
			places[1-i].set(doc(5, `"stage":"complete"`))
			got, err := poll(t, places[0], places[1]).Stage(t.Context())
			require.NoError(t, err)
			assert.Equal(t, cutover.Stage{Epoch: 5, Phase: cutover.Complete}, got)
		})
	}
}

func TestStageAnswersFromMemory(t *testing.T) {
	old, new := &place{}, &place{}
	old.set(doc(1, `"stage":"copying","labels":["room"]`))
	p := poll(t, old, new)
	_, err := p.Stage(t.Context())
	require.NoError(t, err)
	assert.Zero(t, testing.AllocsPerRun(100, func() { _, _ = p.Stage(t.Context()) }))
}

func TestSourceThatCannotWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, p := range map[string]*cutover.Poller{
			"no name": cutover.FromKey("", &place{}, &place{}),
			"braces":  cutover.FromKey("a{b}", &place{}, &place{}),
			"nil":     cutover.FromKey("desk", nil, &place{}),
		} {
			_, err := p.Stage(t.Context())
			assert.ErrorIs(t, err, rmw.ErrInvalid, name)
			require.NoError(t, p.Close())
		}
	})
}

func TestFromFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stage.json")
	write := func(text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o600)) }
	synctest.Test(t, func(t *testing.T) {
		p := cutover.FromFile(path)
		_, err := p.Stage(t.Context())
		require.ErrorIs(t, err, rmw.ErrUnavailable)
		assert.ErrorContains(t, err, "no such file")
		for _, tc := range []struct {
			text    string
			percent int
			trouble string
		}{
			{doc(1, `"stage":"copying","percent":5`), 5, ""},
			{doc(1, `"stage":"copying","percent":6`), 5, "epoch 1"},
			{doc(2, `"stage":"copying","percent":6`), 6, ""},
			{doc(3, `"stage":"copying","perc`), 6, "no stage document"},
			{doc(3, `"stage":"copying","percent":7`), 7, ""},
		} {
			write(tc.text)
			nextPoll()
			got, err := p.Stage(t.Context())
			require.NoError(t, err)
			assert.Equal(t, tc.percent, got.Percent)
			if tc.trouble == "" {
				assert.NoError(t, p.Err())
			} else {
				assert.ErrorContains(t, p.Err(), tc.trouble)
			}
		}
		require.NoError(t, os.Remove(path))
		nextPoll()
		got, err := p.Stage(t.Context())
		require.NoError(t, err)
		assert.Equal(t, 7, got.Percent)
		require.NoError(t, p.Close())
	})
}

func TestFromHTTP(t *testing.T) {
	answer := func(status int, text string) *http.Client {
		return &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			w := httptest.NewRecorder()
			w.WriteHeader(status)
			_, _ = w.WriteString(text)
			return w.Result(), nil
		})}
	}
	for name, tc := range map[string]struct {
		client *http.Client
		want   string
	}{
		"document": {answer(200, doc(4, `"stage":"reverse"`)), ""},
		"status":   {answer(404, doc(4, `"stage":"reverse"`)), "404"},
		"garbage":  {answer(200, "<html>"), "no stage document"},
		"error":    {&http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) { return nil, errors.New("refused") })}, "refused"},
		"hangs": {&http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})}, "deadline"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := cutover.FromHTTP(tc.client, "http://user:secret@flags/desk?token=secret")
				got, err := p.Stage(t.Context())
				if tc.want == "" {
					require.NoError(t, err)
					assert.Equal(t, cutover.Stage{Epoch: 4, Phase: cutover.Reverse}, got)
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
