package cutover

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"sync/atomic"
	"time"

	"github.com/unwatch/unwatch/cutover/internal/names"
	"github.com/unwatch/unwatch/cutover/internal/protocol"
	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// Poller is a [Source] that reads a stage document once a second, on a goroutine of its own until
// Close. A process sees a new stage within two seconds. A Poller is safe for concurrent use.
//
//   - A document has effect if its epoch is greater than that of the stage in force. Of two
//     documents, the one with the greater epoch counts.
//   - If no stage document can be read, the stage in force stays, and Err tells why. A process that
//     has not seen a stage yet fails each call with [rmw.ErrUnavailable]: if the cut-over is
//     complete, it would create keys in the wrong store.
//   - A document of a newer version than this build knows fails each call with [rmw.ErrInvalid],
//     until a document of a known version replaces it. The stage in force stays.
type Poller struct {
	name    string // for errors
	cutover string // of FromKey
	read    func(context.Context) []answer
	state   atomic.Pointer[state]
	first   chan struct{} // closed after the first poll
	end     context.CancelFunc
	ended   chan struct{}
}

// state is the result of all polls until now.
type state struct {
	stage   Stage
	known   bool  // there is a stage
	refused error // fails calls
	trouble error // of the last poll
}

// Polls are a second apart, give or take a fifth, so that processes that start at once do not poll
// at once.
const (
	pollInterval = time.Second
	pollJitter   = 0.2
)

// FromKey reads the stage document that operate.Publish writes into both stores, under the key
// ~cutover:{name}. A process that starts is at Follow if both stores tell that they have none.
//
// Calls fail with an [rmw.ErrInvalid] while a store answers that it has no document, and the other one has a
// stage beyond Follow: the process has a wrong store, or a second cut-over has the same name. After Complete,
// only the new store must have it. Calls fail also if both have lost a Complete that the process has seen.
func FromKey(name string, old, new rmw.Reader) *Poller {
	key, err := names.Document(name)
	if redisx.IsNil(old) || redisx.IsNil(new) {
		err = fmt.Errorf("%w: cutover.FromKey needs both stores, not nil", rmw.ErrInvalid)
	}
	return newPoller(key.Name, name, func(ctx context.Context) []answer {
		if err != nil {
			return []answer{{err: refusal{err}}}
		}
		answers := readBoth(ctx, key, old, new)
		if differ(answers) && redisx.Sleep(ctx, publishTime) == nil {
			answers = readBoth(ctx, key, old, new) // a Publish was between its two writes
		}
		if last, other := &answers[0], answers[1]; last.err == nil && last.stage.Phase == Complete &&
			other.err == nil && other.stage.Phase != Complete {
			last.err = errHalfComplete
		}
		if err := lacks(answers); err != nil {
			answers[0].err = refusal{err}
		}
		return answers
	})
}

// publishTime is how long a Publish takes at most from its first write to its second one, unless a store is slow.
const publishTime = 100 * time.Millisecond

var errHalfComplete = fmt.Errorf("%w: the old store has the stage complete, and the new store has not: publish it again", rmw.ErrInvalid)

// errLost: a process that starts would be at Follow, and create keys where this one does not look.
var errLost = fmt.Errorf("%w: the stage was complete, and the new store has lost its stage document: "+
	"see which keys the new store has lost, then restore the document, or deploy the service on the new store without this package",
	rmw.ErrInvalid)

// differ reports whether both stores answer, and not the same.
func differ(answers []answer) bool {
	old, new := answers[0], answers[1]
	for _, a := range answers {
		if a.err != nil && !errors.Is(a.err, errNone) {
			return false
		}
	}
	return errors.Is(old.err, errNone) != errors.Is(new.err, errNone) || old.stage.Document() != new.stage.Document()
}

// lacks returns an error if a store answers that it has no stage document, and must have it. Such a process
// would serve keys of another cut-over, or create keys where no other process looks.
func lacks(answers []answer) error {
	old, new := answers[0], answers[1]
	side, other := protocol.New, old
	switch {
	case old.err == nil && old.stage.Phase != Follow && errors.Is(new.err, errNone):
	case new.err == nil && new.stage.Phase != Follow && new.stage.Phase != Complete && errors.Is(old.err, errNone):
		side, other = protocol.Old, new
	default:
		return nil
	}
	return fmt.Errorf("%w: the %v store has the stage %v, and the %v store has no stage document: this process has a wrong %v store, or it is lost; "+
		"check its address, give a cut-over to another store another name, or publish the stage again",
		rmw.ErrInvalid, side.Other(), other.stage, side, side)
}

// FromFile reads the stage document from a file:
//
//	{"version": 1, "epoch": 3, "stage": "copying", "percent": 5, "labels": ["room"]}
//
// Increment the epoch with each change. A file that does not exist is an error, not Follow.
func FromFile(path string) *Poller {
	return newPoller(path, "", func(context.Context) []answer {
		return []answer{decodeText(os.ReadFile(path))}
	})
}

// FromHTTP reads the stage document, as [FromFile] has it, with a GET of the URL. Any status but 200
// is an error. A nil client is http.DefaultClient.
func FromHTTP(client *http.Client, url string) *Poller {
	if client == nil {
		client = http.DefaultClient
	}
	return newPoller("HTTP", "", func(ctx context.Context) []answer { return []answer{decodeText(get(ctx, client, url))} })
}

// maxDocument bounds the body of a response, in bytes.
const maxDocument = 1 << 20

func get(ctx context.Context, client *http.Client, address string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: the URL of the stage document cannot be parsed", rmw.ErrInvalid) // it may have a password
	}
	res, err := client.Do(req)
	if err != nil {
		var withURL *url.Error
		if errors.As(err, &withURL) {
			err = withURL.Err
		}
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, maxDocument))
	if err = errors.Join(err, res.Body.Close()); err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("the stage document: HTTP status %s", res.Status)
	}
	return text, err
}

func newPoller(name, cutover string, read func(context.Context) []answer) *Poller {
	ctx, end := context.WithCancel(context.Background())
	p := &Poller{
		name: name, cutover: cutover, read: read, end: end, first: make(chan struct{}), ended: make(chan struct{}),
	}
	go p.run(ctx)
	return p
}

func (p *Poller) run(ctx context.Context) {
	defer close(p.ended)
	for {
		began := time.Now()
		answers := p.read(ctx)
		if ctx.Err() != nil {
			return
		}
		before := p.state.Load()
		after := cmp.Or(before, &state{}).after(p.name, answers)
		p.state.Store(&after)
		if before == nil {
			close(p.first)
		}
		if redisx.Sleep(ctx, jittered(pollInterval)-time.Since(began)) != nil {
			return
		}
	}
}

func jittered(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (1 - pollJitter + 2*pollJitter*rand.Float64()))
}

// after returns the state after a poll of all places of the document.
func (s state) after(name string, answers []answer) state {
	none := 0
	var errs []error
	var refused refusal
	for _, a := range answers {
		switch {
		case errors.Is(a.err, errNone) && s.stage.Epoch == 0:
			none++
		case a.err != nil:
			errors.As(a.err, &refused)
			errs = append(errs, a.err)
		case !s.known || a.stage.Epoch > s.stage.Epoch:
			s.stage, s.known = a.stage, true
		case a.stage.Document() != s.stage.Document():
			errs = append(errs, fmt.Errorf("a stage document has epoch %d, and another one with epoch %d is in force; "+
				"publish the stage again", a.stage.Epoch, s.stage.Epoch))
		}
	}
	s.known = s.known || none == len(answers)
	if s.stage.Phase == Complete && errors.Is(answers[len(answers)-1].err, errNone) {
		refused = refusal{errLost}
		errs = append(errs, errLost)
	}
	s.trouble = errors.Join(errs...)
	switch {
	case refused.error != nil:
		s.refused = refused
	case !s.known: // only the text: a timeout of the poll is not that of a call
		s.refused = redisx.Fail("cutover", "stage", rmw.Key{Name: name}, 0,
			redisx.Because(rmw.ErrUnavailable, errors.New("no stage is known yet: "+s.trouble.Error())))
	case s.trouble == nil || !errors.As(s.refused, &refused):
		s.refused = nil
	}
	return s
}

// Stage implements [Source]. Only the first call waits, for the first poll.
func (p *Poller) Stage(ctx context.Context) (Stage, error) {
	s := p.state.Load()
	for s == nil {
		select {
		case <-p.first:
			s = p.state.Load()
		case <-p.ended:
			return Stage{}, rmw.ErrClosed
		case <-ctx.Done():
			return Stage{}, ctx.Err()
		}
	}
	return s.stage, s.refused
}

// Err returns why the last poll has not read the stage in force from every place of the document, or
// nil. Calls continue at the stage in force.
func (p *Poller) Err() error {
	if s := p.state.Load(); s != nil {
		return s.trouble
	}
	return nil
}

// Close ends the polls and waits for the one that runs. The stage in force stays.
func (p *Poller) Close() error {
	p.end()
	<-p.ended
	return nil
}
