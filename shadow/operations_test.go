package shadow_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
	"github.com/unwatch/unwatch/shadow"
	"github.com/unwatch/unwatch/shadow/internal/notcompared"
	"github.com/unwatch/unwatch/shadow/report"
)

// Operations beyond the limit share one name, and are still compared by their domain's
// rules.
func TestTooManyOperations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := editing(func(doc map[string]any) { doc["at"] = "another time" })
		s := open(t, rmwtest.NewMemory(), clock, shadow.Config{
			Domains: map[string]shadow.Domain{"timed": {Ignore: []string{"at"}}},
		})
		write := func(label string, i int) {
			ctx := rmw.WithOperation(t.Context(), "op"+strconv.Itoa(i))
			_, err := s.Update(ctx, rmw.Key{Name: label + strconv.Itoa(i), Label: label},
				always(rmw.String(`{"at":"now"}`)))
			require.NoError(t, err)
		}
		for i := range 300 {
			write("timed", i)
		}
		for i := range 3 {
			write("strict", i)
		}
		r := drained(t, s)
		assert.Len(t, r.Operations, 256+2)
		for _, op := range r.Operations {
			switch op.Domain {
			case "timed":
				assert.Zero(t, op.Tallies[report.Seeded].Classes[report.ValueDiffers], op.Name)
			default:
				assert.Equal(t, "/(other)", op.Domain+"/"+op.Name)
				assert.EqualValues(t, 3, op.Tallies[report.Seeded].Classes[report.ValueDiffers])
			}
		}
	})
}

// Each write leaves an expiry on its scratch key, that of a call that creates a key without an expiry, too.
func TestScratchKeysExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		seen := map[string]time.Duration{} // by kind
		hidden := after(func(m *mutant, key rmw.Key, _ *rmw.Result) {
			mu.Lock()
			defer mu.Unlock()
			name, scratch := strings.CutPrefix(key.Name, "~shadow:")
			kind, _, _ := strings.Cut(name, ":")
			if v, left, _ := m.Get(t.Context(), key.Name); scratch && v.Exists() {
				assert.NotEqual(t, rmw.NoTTL, left, key.Name)
				seen[kind] = left
			}
		})
		s := shadow.New(rmwtest.NewMemory(), hidden, shadow.Config{Workers: 1})
		for range 2 { // only the second call has an input
			increment(t, s, 1)
			require.NoError(t, s.Drain(t.Context()))
		}
		require.NoError(t, s.Close())
		assert.Equal(t, map[string]time.Duration{
			"seed": time.Minute, "free": 10 * time.Minute, "pair": time.Minute,
		}, seen)
	})
}

// draw is a pure operation.
func draw(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
	env := shadow.EnvOf(ctx)
	return rmw.String(fmt.Sprintf(`{"at":%d,"id":%q,"other":%q,"dice":%d,"before":%d}`,
		env.Now().UnixNano(), env.NewID(), env.NewID(), env.Rand().IntN(6), len(cur.Text()))), nil
}

// A pure operation runs again with the same Env. It returns the same result, unless it is registered as pure and is not.
// It is not blamed for a fault of the path.
func TestPureOperations(t *testing.T) {
	for name, of := range map[string]struct {
		fn        rmw.UpdateFunc
		candidate *mutant
		found     []string // by the seeded comparison
	}{
		"no fault":          {draw, newMutant(), nil},
		"fault of the path": {draw, editing(func(doc map[string]any) { delete(doc, "id") }), []string{"seeded value id"}},
		"clock": {func(context.Context, rmw.Value) (rmw.Value, error) {
			return rmw.String(fmt.Sprintf(`{"at":%d}`, time.Now().UnixNano())), nil
		}, newMutant(), []string{"seeded nondeterministic at"}},
		"chance": {func(context.Context, rmw.Value) (rmw.Value, error) {
			return rmw.String(fmt.Sprintf(`{"at":%d}`, rand.Uint64())), nil
		}, newMutant(), []string{"seeded nondeterministic at"}},
	} {
		run(t, name, func(t *testing.T) {
			s := open(t, rmwtest.NewMemory(), of.candidate, shadow.Config{Pure: []string{"game/draw"}})
			var runs atomic.Int64
			for i := range 50 {
				_, err := s.Update(rmw.WithOperation(t.Context(), "draw"), rmw.Key{Name: "game:" + strconv.Itoa(i%3), Label: "game"},
					func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
						runs.Add(1)
						next, err := of.fn(ctx, cur)
						time.Sleep(time.Microsecond) // the clock goes on
						return next, err
					})
				require.NoError(t, err)
				time.Sleep(time.Millisecond)
			}
			r := drained(t, s)
			if of.found == nil {
				assert.EqualValues(t, 100, runs.Load(), "once to serve, once to compare")
			}
			assert.EqualValues(t, 50, compared(r, report.Seeded))
			var found []string
			for what := range named(r) {
				if strings.HasPrefix(what, "seeded ") {
					found = append(found, what)
				}
			}
			assert.Equal(t, of.found, found)
			assert.Equal(t, of.found != nil, r.Judge(report.Policy{}).State == report.NotReady)
		})
	}
}

// Without a Store, and for operations that are not registered, EnvOf returns a new Env.
func TestEnvOutside(t *testing.T) {
	a, b := shadow.EnvOf(t.Context()), shadow.EnvOf(t.Context())
	assert.NotEqual(t, a.NewID(), b.NewID())
	id := a.NewID()
	assert.Len(t, id, 26)
	assert.NotEqual(t, id, a.NewID())
	assert.WithinDuration(t, time.Now(), a.Now(), time.Minute)
}

// detailed is an error on which == panics, although its type has ==.
type detailed struct{ detail any }

func (detailed) Error() string { return "refused" }

// reasons is an error whose type has no ==.
type reasons []string

func (reasons) Error() string { return "refused" }

// A refusal of any type is compared, also one that errors.Is does not match.
func TestRefusalWithoutEquality(t *testing.T) {
	for _, of := range []struct {
		name      string
		candidate func() *mutant
		found     int64
	}{
		{"no fault", newMutant, 0}, {"forgets refusals", forgetsRefusals, 1}, {"renames refusals", renamesRefusals, 1},
	} {
		for _, refusal := range []error{detailed{[]string{"state", "closed"}}, reasons{"state", "closed"}} {
			run(t, fmt.Sprintf("%s/%T", of.name, refusal), func(t *testing.T) {
				s := open(t, rmwtest.NewMemory(), of.candidate(), shadow.Config{})
				_, err := s.Update(t.Context(), counter(1), func(context.Context, rmw.Value) (rmw.Value, error) {
					return rmw.Value{}, refusal
				})
				require.IsType(t, refusal, err)
				r := drained(t, s)
				assert.Equal(t, of.found, named(r)["seeded error_class "])
				assert.Len(t, named(r), int(of.found))
				assert.EqualValues(t, 1, compared(r, report.Seeded))
				assert.Zero(t, r.Health.Panics)
			})
		}
	}
}

// An outage that fn meets is no error of the candidate, and no refusal.
func TestOutageInFn(t *testing.T) {
	for _, own := range []error{rmw.ErrLockLost, fmt.Errorf("the agent: %w", rmw.ErrUnavailable), context.Canceled} {
		synctest.Test(t, func(t *testing.T) {
			s := open(t, rmwtest.NewMemory(), rmwtest.NewMemory(), shadow.Config{})
			for range 50 {
				_, err := s.Update(t.Context(), counter(1), func(context.Context, rmw.Value) (rmw.Value, error) {
					return rmw.Value{}, own
				})
				require.ErrorIs(t, err, own)
				time.Sleep(time.Millisecond)
			}
			r := drained(t, s)
			assert.Empty(t, r.Health.Candidate.Errors)
			assert.Zero(t, r.Health.BreakerTrips)
			assert.Equal(t, map[report.Reason]int64{notcompared.PrimaryFailed: 50}, passed(r, report.Seeded))
		})
	}
}

// The expiry of a scratch key runs from its write, not from the reply to it.
func TestSlowSeed(t *testing.T) {
	for _, of := range []struct{ by, tolerance time.Duration }{
		{300 * time.Millisecond, 100 * time.Millisecond}, {3 * time.Second, 0}, {40 * time.Second, 0}, {2 * time.Minute, 0},
	} {
		run(t, of.by.String(), func(t *testing.T) {
			s := open(t, rmwtest.NewMemory(), delayed(of.by), shadow.Config{
				Reads: 100, Timeout: time.Hour, Domains: map[string]shadow.Domain{"n": {TTLTolerance: of.tolerance}},
			})
			for range 3 {
				increment(t, s, 1)
				_, err := s.Read(t.Context(), counter(1))
				require.NoError(t, err)
				time.Sleep(10 * time.Minute)
			}
			quiet(t, s)
		})
	}
}
