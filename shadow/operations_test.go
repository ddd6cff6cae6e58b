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

// Scratch keys of a killed process expire, also those of a call that creates a key without
// an expiry.
func TestScratchKeysOfAKilledProcessExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen sync.Map
		hidden := after(func(_ *mutant, key rmw.Key, _ rmw.Result) {
			seen.Store(key.Name, true)
			time.Sleep(100 * time.Millisecond)
		})
		s := shadow.New(rmwtest.NewMemory(), hidden, shadow.Config{Sole: true})
		calls(t, s, 8, 8)
		time.Sleep(50 * time.Millisecond)
		s.Kill("now")
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		for name := range seen.Range {
			if strings.HasPrefix(name.(string), "~") {
				v, left, err := hidden.Get(t.Context(), name.(string))
				require.NoError(t, err)
				assert.False(t, v.Exists(), "%s %v", name, left)
			}
		}
	})
}
