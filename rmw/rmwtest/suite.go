package rmwtest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// Clause is one rule of the contract and the test of it.
type Clause struct {
	// Name is short and stable: the subtest's name.
	Name string
	// Says is the rule, as one sentence.
	Says string
	// NeedsFaults tells that a Target without Faults cannot be checked.
	NeedsFaults bool
	// NeedsPeeker tells that a Store that is no rmw.Peeker cannot be checked.
	NeedsPeeker bool

	run func(c *check)
}

// Clauses returns the whole contract in reading order.
func Clauses() []Clause {
	var all []Clause
	for _, group := range [][]Clause{
		basicClauses(), ttlClauses(), valueClauses(), guardClauses(), raceClauses(), callerClauses(), faultClauses(), peekClauses(),
	} {
		all = append(all, group...)
	}
	return all
}

// Run checks every clause in a subtest of its own, each on a fresh Target.
func Run(t *testing.T, open func(t *testing.T) Target) {
	t.Helper()
	for _, clause := range Clauses() {
		t.Run(clause.Name, func(t *testing.T) { clause.test(t, open(t)) })
	}
}

func (c Clause) test(t *testing.T, target Target) {
	t.Helper()
	if c.NeedsFaults && target.Faults == nil {
		t.Skipf("this Target declares no faults, so it is not shown that: %s", c.Says)
	}
	if c.NeedsPeeker {
		if _, ok := rmw.As[rmw.Peeker](target.Open()); !ok {
			t.Skipf("this Store is no rmw.Peeker, so it is not shown that: %s", c.Says)
		}
	}
	if err := c.Check(t.Context(), target); err != nil {
		t.Errorf("%s\n%v", c.Says, err)
	}
}

// Check runs the clause against target and returns nil if it is kept, else what
// was seen. A panic in the Store counts as a violation. In a testing/synctest bubble a
// Store that spins keeps Check from ever returning; [RunFake] ends it.
func (c Clause) Check(ctx context.Context, target Target) error {
	patience := target.Patience
	if patience == 0 {
		patience = 60 * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ck := &check{Target: target, ctx: ctx, clause: c.Name}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				ck.errorf("panic: %v\n%s", p, debug.Stack())
			}
		}()
		c.run(ck)
	}()
	select {
	case <-done:
	case <-time.After(patience + 5*time.Second):
		ck.errorf("still running %v after its ctx ended", 5*time.Second)
	}
	return ck.result()
}

// check is one run of a clause.
type check struct {
	Target
	ctx    context.Context
	clause string

	mu       sync.Mutex
	failures []string
}

// kinds are those of the values that the Store stores.
func (c *check) kinds() []rmw.Kind {
	if c.Kinds == nil {
		return []rmw.Kind{rmw.KindString, rmw.KindHash}
	}
	return c.Kinds
}

func (c *check) stores(kind rmw.Kind) bool { return slices.Contains(c.kinds(), kind) }

func (c *check) errorf(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failures = append(c.failures, fmt.Sprintf(format, args...))
}

// fatalf ends the clause; only for its own goroutine.
func (c *check) fatalf(format string, args ...any) {
	c.errorf(format, args...)
	runtime.Goexit()
}

func (c *check) result() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.failures) == 0 {
		return nil
	}
	const most = 5
	shown := c.failures
	more := ""
	if len(shown) > most {
		more = fmt.Sprintf("\n… and %d more", len(shown)-most)
		shown = shown[:most]
	}
	return errors.New(strings.Join(shown, "\n") + more)
}

// names makes key names that no other run of the suite on this storage uses.
var names atomic.Uint64

// key returns a key no other clause has touched.
func (c *check) key(kind rmw.Kind) rmw.Key {
	return rmw.Key{
		Name:  fmt.Sprintf("rmwtest:%s:%d:%d", c.clause, time.Now().UnixNano(), names.Add(1)),
		Kind:  kind,
		Label: "rmwtest",
	}
}

// put prepares the stored value.
func (c *check) put(key rmw.Key, v rmw.Value, ttl time.Duration) {
	if err := c.Direct.Set(c.ctx, key.Name, v, ttl); err != nil {
		c.fatalf("prepare %v: %v", v, err)
	}
}

// stored returns what the storage holds.
func (c *check) stored(key rmw.Key) (rmw.Value, time.Duration) {
	v, ttl, err := c.Direct.Get(c.ctx, key.Name)
	if err != nil {
		c.fatalf("look at the storage: %v", err)
	}
	return v, ttl
}

// wantStored requires the storage to hold want.
func (c *check) wantStored(key rmw.Key, want rmw.Value) {
	if got, _ := c.stored(key); !got.Equal(want) {
		c.errorf("stored: %s, want %s", show(got), show(want))
	}
}

// update runs an Update that must succeed.
func (c *check) update(s rmw.Store, key rmw.Key, fn rmw.UpdateFunc) rmw.Result {
	res, err := s.Update(c.ctx, key, fn)
	if err != nil {
		c.fatalf("Update: %v", err)
	}
	return res
}

// to returns an UpdateFunc that stores v whatever was there.
func to(v rmw.Value) rmw.UpdateFunc {
	return func(context.Context, rmw.Value) (rmw.Value, error) { return v, nil }
}

// show prints content, which rmw.Value itself hides: these values are the
// suite's own.
func show(v rmw.Value) string {
	switch {
	case !v.Exists():
		return "no such key"
	case v.Kind() == rmw.KindHash && v.Size() < 200:
		return fmt.Sprintf("%q", v.Fields())
	case v.Size() < 200:
		return fmt.Sprintf("%q", v.Text())
	}
	return v.String()
}
