package rmwtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unwatch/unwatch/internal/suite"
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
	// NeedsTransactor tells that a Store cannot be checked that is no rmw.Transactor, or answers a Transact with
	// rmw.ErrUnsupported.
	NeedsTransactor bool

	run func(c *check)
}

// Clauses returns the whole contract in reading order.
func Clauses() []Clause {
	var all []Clause
	for _, group := range [][]Clause{
		basicClauses(), ttlClauses(), valueClauses(), guardClauses(), raceClauses(), callerClauses(), faultClauses(), peekClauses(),
		txClauses(),
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
	if missing := c.missing(target); missing != "" {
		t.Skipf("this %s, so it is not shown that: %s", missing, c.Says)
	}
	if err := c.Check(t.Context(), target); err != nil {
		t.Errorf("%s\n%v", c.Says, err)
	}
}

// missing says why the target cannot be checked, or "".
func (c Clause) missing(target Target) string {
	if c.NeedsFaults && target.Faults == nil {
		return "Target declares no faults"
	}
	if !c.NeedsPeeker && !c.NeedsTransactor {
		return ""
	}
	s := target.Open()
	if _, ok := rmw.As[rmw.Peeker](s); c.NeedsPeeker && !ok {
		return "Store is no rmw.Peeker"
	}
	if c.NeedsTransactor && !transacts(s) {
		return "Store is no rmw.Transactor"
	}
	return ""
}

// transacts reports whether a Store can update several keys. One that can only in some configurations says so at the call.
func transacts(s rmw.Store) bool {
	nothing := func(context.Context, *rmw.Tx) error { return nil }
	_, err := rmw.Transact(context.Background(), s, nothing, rmw.Key{Name: "rmwtest:transacts"})
	return !errors.Is(err, rmw.ErrUnsupported)
}

// RunFake is [Run] on fake time, behind 30 programs of [RunPrograms]: each clause and program runs in a testing/synctest
// bubble, in which open is called. Waiting costs nothing, and a goroutine that stays behind fails the test.
// Nothing below the Target may reach out of the bubble. A clause or program that takes two minutes of
// real time ends the test binary with a panic: its Store spins.
func RunFake(t *testing.T, open func(t *testing.T) Target) {
	t.Helper()
	t.Run("programs", func(t *testing.T) { RunPrograms(t, open, 30) })
	for _, clause := range Clauses() {
		t.Run(clause.Name, func(t *testing.T) {
			suite.Fake(t, clause.Name, func(t *testing.T) { clause.test(t, open(t)) })
		})
	}
}

// Check runs the clause against target and returns nil if it is kept, else what
// was seen. Check also returns nil if the Target has no Faults, or the Store no capability, that the clause needs. A panic in
// the Store counts as a violation. In a testing/synctest bubble a Store that spins keeps Check from ever returning;
// [RunFake] ends it.
func (c Clause) Check(ctx context.Context, target Target) error {
	if c.missing(target) != "" {
		return nil
	}
	patience := target.Patience
	if patience == 0 && c.NeedsTransactor {
		patience = 3 * time.Minute // a Transact has many commands, and each may have the fault
	}
	return suite.Run(ctx, patience, func(ck *suite.Check) {
		c.run(&check{Target: target, Check: ck, clause: c.Name})
	})
}

// check is one run of a clause.
type check struct {
	Target
	*suite.Check
	clause string
}

// kinds are those of the values that the Store stores.
func (c *check) kinds() []rmw.Kind {
	if c.Kinds == nil {
		return []rmw.Kind{rmw.KindString, rmw.KindHash}
	}
	return c.Kinds
}

func (c *check) stores(kind rmw.Kind) bool { return slices.Contains(c.kinds(), kind) }

// names makes key names that no other run of the suite on this storage uses.
var names atomic.Uint64 //nolint:gochecknoglobals // keys must be unique in the process

// key returns a key no other clause has touched.
func (c *check) key(kind rmw.Kind) rmw.Key {
	clause := c.clause
	if c.OneSlot && strings.HasPrefix(clause, "tx-") {
		clause = "{" + clause + "}"
	}
	return rmw.Key{
		Name:  fmt.Sprintf("rmwtest:%s:%d:%d", clause, time.Now().UnixNano(), names.Add(1)),
		Kind:  kind,
		Label: "rmwtest",
	}
}

// put prepares the stored value.
func (c *check) put(key rmw.Key, v rmw.Value, ttl time.Duration) {
	if err := c.Direct.Set(c.Ctx, key.Name, v, ttl); err != nil {
		c.Fatalf("prepare %v: %v", v, err)
	}
}

// stored returns the stored value.
func (c *check) stored(key rmw.Key) (rmw.Value, time.Duration) {
	v, ttl, err := c.Direct.Get(c.Ctx, key.Name)
	if err != nil { // behind the answer of a Transact, its keys may need a moment
		c.Pass(soon)
		v, ttl, err = c.Direct.Get(c.Ctx, key.Name)
	}
	if err != nil {
		c.Fatalf("look at the storage: %v", err)
	}
	return v, ttl
}

// wantStored requires the storage to hold want.
func (c *check) wantStored(key rmw.Key, want rmw.Value) {
	if got, _ := c.stored(key); !got.Equal(want) {
		c.Errorf("stored: %s, want %s", show(got), show(want))
	}
}

// update runs an Update that must succeed.
func (c *check) update(s rmw.Store, key rmw.Key, fn rmw.UpdateFunc) rmw.Result {
	res, err := s.Update(c.Ctx, key, fn)
	if err != nil {
		c.Fatalf("Update: %v", err)
	}
	return res
}

// to returns an UpdateFunc that stores v unconditionally.
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
