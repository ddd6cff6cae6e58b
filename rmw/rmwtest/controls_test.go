package rmwtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
)

// flaw is a mistake that real helpers around Redis make.
type flaw string

const (
	plainSet        flaw = "writes without a guard"
	dropsTTL        flaw = "SET without KEEPTTL"
	immortal        flaw = "SET KEEPTTL on a key that has gone"
	emptyIsAbsent   flaw = "takes an empty string for an absent key"
	writesUnchanged flaw = "writes what has not changed"
	wholeHash       flaw = "writes the whole hash back over newer fields"
	retriesBlindly  flaw = "sends the write again after a lost reply"
	hidesUnknown    flaw = "reports a lost reply as a plain failure"
	wrapsFnError    flaw = "replaces fn's error by its own"
	swallowsPanic   flaw = "turns fn's panic into an error"
	ignoresCtx      flaw = "writes although ctx has ended"
	cachesReads     flaw = "answers reads from a cache"
	locksForever    flaw = "leaves the key locked after a panic"
	clobbersKind    flaw = "overwrites a value of another kind"
	resends         flaw = "sends a commit again after a lost reply"
	elsewhere       flaw = "runs fn on another goroutine"
	wholeSeconds    flaw = "counts expiries in seconds"
	ignoresValueTTL flaw = "ignores WithTTL when the content changed"
	countsOne       flaw = "always says that fn was called once"
	peeksNoTTL      flaw = "drops the expiry in Peek"
	peeksStale      flaw = "answers Peek from a cache"
	peeksOldTTL     flaw = "tells the expiry of the first Peek for ever"
	peeksApart      flaw = "looks at the value, and then at the expiry"
	peeksRounded    flaw = "rounds the time left down to nothing"
	peeksAnyKind    flaw = "lets Peek take another kind for an absent key"
	peeksAtOdds     flaw = "takes a Peek that got no answer for one of an absent key"
)

// controls names, for each flaw, the clauses that must fail because of it.
var controls = map[flaw][]string{
	plainSet:        {"guard", "no-lost-update"},
	dropsTTL:        {"ttl-kept"},
	immortal:        {"no-immortal-key"},
	emptyIsAbsent:   {"empty-is-a-value"},
	writesUnchanged: {"unchanged-writes-nothing"},
	wholeHash:       {"hash-fields-survive"},
	retriesBlindly:  {"reply-lost"},
	hidesUnknown:    {"reply-lost"},
	wrapsFnError:    {"abort"},
	swallowsPanic:   {"panic"},
	ignoresCtx:      {"ctx-ended-in-fn"},
	cachesReads:     {"read-is-fresh"},
	locksForever:    {"panic"},
	clobbersKind:    {"wrong-kind"},
	resends:         {"late"},
	elsewhere:       {"goroutine"},
	wholeSeconds:    {"ttl-to-the-millisecond"},
	ignoresValueTTL: {"ttl-of-the-value"},
	countsOne:       {"guard"},
	peeksNoTTL:      {"peek", "peek-to-the-end"},
	peeksStale:      {"peek-is-fresh"},
	peeksOldTTL:     {"peek-is-fresh"},
	peeksApart:      {"peek-of-one-moment"},
	peeksRounded:    {"peek-to-the-end"},
	peeksAnyKind:    {"peek-fails-as-read"},
	peeksAtOdds:     {"peek-survives"},
}

// naive is a Store with one flaw. Without any it keeps the whole contract.
type naive struct {
	*Memory
	flaw   flaw
	mu     sync.Mutex // for what follows
	locked map[string]bool
	cache  map[string]rmw.Value
	peeked map[string]peeked
	last   *rmw.Value // what fn returned last
}

// call runs fn, where the flaw has it run.
func (n *naive) call(ctx context.Context, fn rmw.UpdateFunc, cur rmw.Value) (next rmw.Value, err error) {
	if n.flaw != elsewhere {
		return fn(ctx, cur)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		next, err = fn(ctx, cur)
	}()
	<-done
	return next, err
}

// haunt is the first copy of a commit that was sent twice: it stores its value
// later, once the key holds again what it expects.
func (n *naive) haunt(key rmw.Key, next rmw.Value) {
	time.AfterFunc(200*time.Millisecond, func() {
		if now, _, _ := n.Get(context.Background(), key.Name); !now.Exists() {
			_ = n.Set(context.Background(), key.Name, next, rmw.NoTTL)
		}
	})
}

func newNaive(m *Memory, f flaw) *naive {
	return &naive{Memory: m, flaw: f, locked: map[string]bool{}, cache: map[string]rmw.Value{}, peeked: map[string]peeked{}}
}

func (n *naive) Read(ctx context.Context, key rmw.Key) (rmw.Value, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if v, ok := n.cache[key.Name]; ok && n.flaw == cachesReads {
		return v, nil
	}
	v, err := n.Memory.Read(ctx, key)
	n.cache[key.Name] = v
	return v, err
}

// peeked is what a Peek has shown.
type peeked struct {
	value rmw.Value
	left  time.Duration
}

func (n *naive) Peek(ctx context.Context, key rmw.Key) (rmw.Value, time.Duration, error) {
	v, left, err := n.Memory.Peek(ctx, key)
	n.mu.Lock()
	defer n.mu.Unlock()
	old, seen := n.peeked[key.Name]
	if !seen && err == nil && v.Exists() {
		n.peeked[key.Name] = peeked{v, left}
	}
	switch {
	case n.flaw == peeksNoTTL && left > 0:
		left = rmw.NoTTL
	case n.flaw == peeksStale && seen:
		v, left = old.value, old.left
	case n.flaw == peeksOldTTL && seen && v.Exists():
		left = old.left
	case n.flaw == peeksApart && err == nil:
		_, left, err = n.Memory.Peek(ctx, key)
	case n.flaw == peeksRounded && left > 0:
		left = (left - time.Nanosecond).Truncate(time.Millisecond) // the least it tells is 1ms
	case n.flaw == peeksAnyKind && errors.Is(err, rmw.ErrWrongKind),
		n.flaw == peeksAtOdds && errors.Is(err, rmw.ErrUnavailable):
		return rmw.Value{}, 0, nil
	}
	return v, left, err
}

func (n *naive) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (res rmw.Result, err error) {
	if n.flaw == swallowsPanic {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v", p)
			}
		}()
	}
	if n.flaw == locksForever && n.lockOrWait(ctx, key) != nil {
		return rmw.Result{}, ctx.Err()
	}
	res, err = n.Memory.Update(ctx, key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
		if n.flaw == emptyIsAbsent && cur.Text() == "" && cur.Len() == 0 {
			cur = rmw.Value{}
		}
		next, err := n.call(ctx, fn, cur)
		n.mu.Lock()
		n.last = &next
		n.mu.Unlock()
		if err != nil && n.flaw == wrapsFnError {
			return next, errors.New("update failed: " + err.Error())
		}
		if err != nil {
			return next, err
		}
		return n.spoil(key, cur, next)
	})
	if n.flaw == ignoresCtx && errors.Is(err, context.Canceled) && res.Attempts > 0 {
		res, err = n.Memory.Update(context.WithoutCancel(ctx), key, fn)
	}
	if n.flaw == retriesBlindly && errors.Is(err, rmw.ErrOutcomeUnknown) {
		res, err = n.Memory.Update(ctx, key, fn)
	}
	if n.flaw == resends && errors.Is(err, rmw.ErrOutcomeUnknown) && n.last != nil {
		next := *n.last
		if now, _, _ := n.Get(ctx, key.Name); !now.Equal(next) {
			res, err = n.Memory.Update(ctx, key, func(context.Context, rmw.Value) (rmw.Value, error) { return next, nil })
			n.haunt(key, next)
		}
	}
	if n.flaw == countsOne {
		res.Attempts = min(res.Attempts, 1)
	}
	if n.flaw == hidesUnknown && errors.Is(err, rmw.ErrOutcomeUnknown) {
		err = rmw.ErrUnavailable
	}
	n.mu.Lock()
	n.locked[key.Name] = false
	n.mu.Unlock()
	return res, err
}

// spoil does on the storage what the flaw does, just before the commit.
func (n *naive) spoil(key rmw.Key, cur, next rmw.Value) (rmw.Value, error) {
	now, ttl, _ := n.Get(context.Background(), key.Name)
	switch {
	case n.flaw == plainSet && !now.Equal(cur),
		n.flaw == immortal && !now.Exists() && cur.Exists(),
		n.flaw == wholeHash && key.Kind == rmw.KindHash && !now.Equal(cur):
		_ = n.Set(context.Background(), key.Name, next, ttl)
		return next, errDone
	case n.flaw == dropsTTL && !next.Equal(cur):
		return next.WithTTL(rmw.NoTTL), nil
	case n.flaw == wholeSeconds && next.Exists():
		if ttl > 0 && ttl < time.Second || key.TTL > 0 && key.TTL < time.Second {
			return next.WithTTL(rmw.NoTTL), nil
		}
	case n.flaw == ignoresValueTTL && next.TTL() != 0 && !next.Equal(cur):
		return next.WithTTL(0), nil
	case n.flaw == writesUnchanged && key.TTL != 0:
		return next.WithTTL(key.TTL), nil
	}
	return next, nil
}

var errDone = errors.New("already written, past the guard")

// lockOrWait takes a lock that only an ordinary return gives back.
func (n *naive) lockOrWait(ctx context.Context, key rmw.Key) error {
	if n.locked[key.Name] {
		<-ctx.Done()
		return ctx.Err()
	}
	n.locked[key.Name] = true
	return nil
}

// unguarded makes errDone a success: the write happened.
type unguarded struct{ *naive }

func (u unguarded) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	if u.flaw == clobbersKind {
		if v, _, _ := u.Get(ctx, key.Name); v.Exists() && v.Kind() != key.Kind {
			_ = u.Set(ctx, key.Name, rmw.Value{}, 0)
		}
	}
	res, err := u.naive.Update(ctx, key, fn)
	if errors.Is(err, errDone) {
		return rmw.Result{Written: true, Attempts: res.Attempts}, nil
	}
	return res, err
}

// TestControls runs the suite over each naive Store and requires the clause that
// names its flaw to fail. If one passes, that clause proves nothing.
func TestControls(t *testing.T) {
	byName := map[string]Clause{}
	for _, c := range Clauses() {
		byName[c.Name] = c
	}
	for f, names := range controls {
		for _, name := range names {
			t.Run(string(f)+"/"+name, func(t *testing.T) {
				clause, ok := byName[name]
				require.True(t, ok, "no clause %q", name)
				synctest.Test(t, func(t *testing.T) {
					m := NewMemory()
					s := unguarded{newNaive(m, f)}
					err := clause.Check(t.Context(), Target{Open: func() rmw.Store { return s }, Direct: m, Faults: m})
					assert.Error(t, err, "clause %q does not notice that the store %s", name, f)
				})
			})
		}
	}
}

// TestNoFlawNoFailure shows that the naive Store fails for its flaw and nothing
// else.
func TestNoFlawNoFailure(t *testing.T) {
	used := map[string]bool{}
	for _, names := range controls {
		for _, name := range names {
			used[name] = true
		}
	}
	for _, clause := range Clauses() {
		if !used[clause.Name] {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			m := NewMemory()
			s := unguarded{newNaive(m, "")}
			assert.NoError(t, clause.Check(t.Context(), Target{Open: func() rmw.Store { return s }, Direct: m, Faults: m}), clause.Name)
		})
	}
}

// Every clause says what it enforces, under a name of its own.
func TestClausesReadWell(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Clauses() {
		assert.False(t, seen[c.Name], "clause %q stands twice", c.Name)
		seen[c.Name] = true
		assert.Regexp(t, `^([A-Z]|fn).*\.$`, c.Says, c.Name)
	}
}
