package several

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/internal/seal"
	"github.com/unwatch/unwatch/lockupdate/internal/driver"
	"github.com/unwatch/unwatch/lockupdate/internal/transport"
	"github.com/unwatch/unwatch/lockupdate/internal/values"
	"github.com/unwatch/unwatch/rmw"
)

// Options tune a Line.
type Options struct {
	Owner       any // the Store, by which rmw.CheckTx tells Stores apart
	MaxAttempts int // runs of fn
	MaxWait     time.Duration
	MaxOutage   time.Duration
	NoCombining bool
	Emit        func(ctx context.Context, e Event, key rmw.Key, n int, err error) // tells of n calls, with the first key of one
}

// Event is a kind of event.
type Event uint8

// The kinds of events.
const (
	Conflicted Event = iota // calls run again
	Combined                // calls were stored by one decision
	Unknown                 // a call ended in rmw.ErrOutcomeUnknown
)

// Line has the updates of several keys of one Store. It is safe for concurrent use.
type Line struct {
	transport *transport.Transport
	values    *values.Values
	gate      *redisx.Gate
	ids       *driver.OwnerIDs
	options   Options
	check     atomic.Int32 // the seal.Check of the next take
	slow      slow
	index     *index

	mu      sync.Mutex
	busy    map[string]bool   // keys of the batches that run
	opening map[string]*batch // keys that are free, of batches that open them
	waiting []*call           // in the order of their arrival
}

// New returns a Line. Its goroutines belong to the gate.
func New(t *transport.Transport, v *values.Values, gate *redisx.Gate, o Options) *Line {
	l := &Line{
		transport: t, values: v, gate: gate, ids: driver.NewOwnerIDs(), options: o, busy: map[string]bool{}, opening: map[string]*batch{},
	}
	l.index = newIndex(l)
	return l
}

const (
	// maxCalls bounds how many calls become one attempt.
	maxCalls = 256
	// answerWithin is how long the first flush of an attempt may take before its keys are given back: while a part of the
	// store hangs, the other keys must not wait with it.
	answerWithin = 500 * time.Millisecond
	// maxFollows bounds how many updates take a key before the reply to the one before that opens it: a key without a pause is
	// sealed nearly all the time, for other processes and for plain readers. A pause is a round trip.
	maxFollows = 24
)

// enter has the call run as soon as its keys are free.
func (l *Line) enter(c *call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.batch = nil
	l.waiting = append(l.waiting, c)
	l.startLocked()
}

// settle answers the calls of done, whose batch is decided, and frees its keys before they are open, so that the next update needs
// no third round trip. Not if several calls were combined or wait for them, since then more calls gather meanwhile, nor if it is
// time for a pause.
func (l *Line) settle(b *batch, done []*turn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range done {
		t.call.answerLocked(answer{changes: t.changes})
	}
	for _, c := range b.calls {
		if c.batch == b && !c.left { // it was too much for this attempt
			c.batch = nil
			l.waiting = append(l.waiting, c)
		}
	}
	b.calls = nil
	if b.early = len(done) < 2 && b.follows < maxFollows && !l.wantedLocked(b.keys); b.early {
		for _, key := range b.keys {
			delete(l.busy, key.Name)
			l.opening[key.Name] = b
		}
	}
}

// wantedLocked reports whether a call waits for any of the keys.
func (l *Line) wantedLocked(keys []rmw.Key) bool {
	for _, c := range l.waiting {
		for _, key := range keys {
			if c.names(key.Name) {
				return true
			}
		}
	}
	return false
}

// finish frees the keys of a batch.
func (l *Line) finish(b *batch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b.finished {
		return
	}
	b.finished = true
	close(b.opened)
	for _, key := range b.keys {
		if !b.early {
			delete(l.busy, key.Name)
		} else if l.opening[key.Name] == b {
			delete(l.opening, key.Name)
		}
	}
	l.startLocked()
}

// awaitOwn waits for the opening of a key by an earlier update of this Line, and reports whether the seal is of one.
func (l *Line) awaitOwn(key, nonce string) bool {
	if !strings.HasPrefix(nonce, l.index.store+":") {
		return false
	}
	l.mu.Lock()
	b := l.opening[key]
	l.mu.Unlock()
	if b != nil && b.id == seal.IDOf(nonce) {
		<-b.opened
	}
	return true
}

// startLocked starts the calls with free keys, unless an earlier call waits for one of them. Calls that have waited become
// one batch.
func (l *Line) startLocked() {
	var wanted map[string]bool // by calls that go on waiting
	var together *batch        // of calls that have waited
	rest := l.waiting[:0]
	for _, c := range l.waiting {
		free := !slices.ContainsFunc(c.keys, func(key rmw.Key) bool { return l.busy[key.Name] || wanted[key.Name] })
		switch {
		case together != nil && !c.alone && together.joinLocked(c, wanted):
		case free:
			b := newBatch(l, c)
			if c.waits && !c.alone {
				together = b
			}
			b.occupyLocked(c)
			defer l.gate.Go(b.run)
		default:
			c.waits = true
			if wanted == nil {
				wanted = map[string]bool{}
			}
			for _, key := range c.keys {
				wanted[key.Name] = true
			}
			rest = append(rest, c)
		}
	}
	clear(l.waiting[len(rest):])
	l.waiting = rest
}

// newBatch returns a batch of one call.
func newBatch(l *Line, c *call) *batch {
	return &batch{line: l, held: make(map[string]*held, len(c.keys)), opened: make(chan struct{})}
}

// joinLocked adds a call to a batch that has not started, if its keys are free or those of the batch, and reports
// whether it did.
func (b *batch) joinLocked(c *call, wanted map[string]bool) bool {
	more := 0
	for _, key := range c.keys {
		i := slices.IndexFunc(b.keys, func(k rmw.Key) bool { return k.Name == key.Name })
		switch {
		case wanted[key.Name], i < 0 && b.line.busy[key.Name], i >= 0 && b.keys[i].Kind != key.Kind:
			return false
		case i < 0:
			more++
		}
	}
	if len(b.keys)+more > rmw.MaxTxKeys || len(b.calls) == maxCalls {
		return false
	}
	b.occupyLocked(c)
	return true
}

// occupyLocked adds a call and its keys.
func (b *batch) occupyLocked(c *call) {
	c.batch = b
	b.calls = append(b.calls, c)
	for _, key := range c.keys {
		if !slices.ContainsFunc(b.keys, func(k rmw.Key) bool { return k.Name == key.Name }) {
			b.addLocked(key)
		}
	}
}

func (b *batch) addLocked(key rmw.Key) {
	b.keys = append(b.keys, key)
	b.line.busy[key.Name] = true
	if before := b.line.opening[key.Name]; before != nil {
		b.follows = max(b.follows, before.follows+1)
	}
}

// claim adds a key that fn gets late to a batch, unless another batch of this process has it.
func (b *batch) claim(key rmw.Key) bool {
	b.line.mu.Lock()
	defer b.line.mu.Unlock()
	if b.line.busy[key.Name] || len(b.keys) == rmw.MaxTxKeys {
		return false
	}
	b.addLocked(key)
	return true
}

// slow remembers labels with a slow fn.
type slow struct {
	mu     sync.Mutex
	labels map[string]bool
}

// maxSlow bounds the labels that are remembered.
const maxSlow = 1024

func (s *slow) known(label string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.labels[label]
}

func (s *slow) set(label string, is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !is:
		delete(s.labels, label)
	case s.labels == nil || len(s.labels) >= maxSlow:
		s.labels = map[string]bool{label: true}
	default:
		s.labels[label] = true
	}
}
