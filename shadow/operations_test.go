package shadow_test

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
	"github.com/unwatch/unwatch/shadow"
	"github.com/unwatch/unwatch/shadow/report"
)

// Operations beyond the limit share one name, and are still compared by their domain's
// rules.
func TestTooManyOperations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := storing(func(v rmw.Value) rmw.Value {
			return document(v, func(doc map[string]any) { doc["at"] = "another time" })
		})
		s := open(t, rmwtest.NewMemory(), clock, shadow.Config{
			Sole: true, Domains: map[string]shadow.Domain{"timed": {Ignore: []string{"at"}}},
		})
		write := func(label string, i int) {
			ctx := rmw.WithOperation(t.Context(), "op"+strconv.Itoa(i))
			_, err := s.Update(ctx, rmw.Key{Name: label + strconv.Itoa(i), Label: label},
				func(context.Context, rmw.Value) (rmw.Value, error) { return rmw.String(`{"at":"now"}`), nil })
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

// Domain.Keys declares the names of a small map of plain words as data: then no report has
// them.
func TestNamesThatAreData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := func(cfg shadow.Config) string {
			s := shadow.New(rmwtest.NewMemory(), storing(func(v rmw.Value) rmw.Value {
				return document(v, func(doc map[string]any) { doc["unread"] = map[string]any{"anna": 7} })
			}), cfg)
			set(t, s, rmw.Key{Name: "room:1", Label: "room"}, rmw.String(`{"unread":{"anna":1}}`))
			require.NoError(t, s.Drain(t.Context()))
			require.NoError(t, s.Close())
			var text strings.Builder
			require.NoError(t, s.Report().WriteJSON(&text, report.Policy{}))
			return text.String()
		}
		assert.Contains(t, run(shadow.Config{}), "unread.anna")
		told := run(shadow.Config{Domains: map[string]shadow.Domain{"room": {Keys: []string{"unread.*"}}}})
		assert.Contains(t, told, "unread.*")
		assert.NotContains(t, told, "anna")
	})
}

// Each scratch key has an expiry.
func TestScratchKeysExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		seen := map[string]time.Duration{} // by kind
		hidden := after(func(m *mutant, key rmw.Key, _ rmw.Result) {
			mu.Lock()
			defer mu.Unlock()
			kind, _, scratch := strings.Cut(key.Name, ":")
			if v, left, _ := m.Get(t.Context(), key.Name); scratch && v.Exists() && strings.HasPrefix(kind, "~") {
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
			"~seed": time.Minute, "~free": 10 * time.Minute, "~pair": time.Minute, "~trail": time.Hour,
		}, seen)
	})
}

// noting is a path that records the names of the keys and answers late.
type noting struct {
	*rmwtest.Memory
	by   time.Duration
	mu   sync.Mutex
	seen map[string]bool
}

func (p *noting) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	p.mu.Lock()
	p.seen[key.Name] = true
	p.mu.Unlock()
	res, err := p.Memory.Update(ctx, key, fn)
	select {
	case <-time.After(p.by):
		return res, err
	case <-ctx.Done():
		return rmw.Result{}, &rmw.Error{Reason: rmw.ErrOutcomeUnknown}
	}
}

// Scratch keys of a killed process expire, also those of a call that creates a key without
// an expiry.
func TestScratchKeysOfAKilledProcessExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &noting{Memory: rmwtest.NewMemory(), by: 100 * time.Millisecond, seen: map[string]bool{}}
		s := shadow.New(rmwtest.NewMemory(), m, shadow.Config{Sole: true})
		calls(t, s, 8, 8)
		time.Sleep(50 * time.Millisecond)
		s.Kill("now")
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		m.mu.Lock()
		defer m.mu.Unlock()
		for name := range m.seen {
			if strings.HasPrefix(name, "~") {
				v, left, err := m.Get(t.Context(), name)
				require.NoError(t, err)
				assert.False(t, v.Exists(), "%s %v", name, left)
			}
		}
	})
}
