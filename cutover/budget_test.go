package cutover_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/rmw"
)

// The price of a call is counted in round trips that the caller waits for.
func TestRoundTrips(t *testing.T) {
	long.Repeats(t)
	keep := func(_ context.Context, cur rmw.Value) (rmw.Value, error) { return cur, nil }
	for name, tc := range map[string]struct {
		before, now cutover.Stage
		call        func(p process) error
		want        int64
	}{
		"update, open":                  {follow, follow, update(add("x")), 2},
		"update, moved":                 {forward, forward, update(add("x")), 2},
		"update that moves the key":     {follow, forward, update(add("x")), 7},
		"update that moves it back":     {forward, reverse, update(add("x")), 7},
		"update, moved, an old stage":   {forward, follow, update(add("x")), 5},
		"update that writes nothing":    {forward, forward, update(keep), 1},
		"read, open":                    {follow, follow, read, 1},
		"read, moved":                   {forward, forward, read, 1},
		"read, moved, an old stage":     {forward, follow, read, 4},
		"read before the key has moved": {follow, forward, read, 4},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				before, p := r.open(tc.before), r.open(tc.now)
				var took time.Duration
				for range 3 { // the first rounds load the scripts and open connections
					r.proxies[0].Engine(0).FlushAll()
					r.proxies[1].Engine(0).FlushAll()
					r.proxies[1].Engine(1).FlushAll()
					require.NoError(t, update(add("first"))(before))
					sleep(time.Second)
					began := time.Now()
					require.NoError(t, tc.call(p))
					took = time.Since(began)
				}
				assert.Equal(t, tc.want, int64(took/flush))
			})
		})
	}
}

func update(fn rmw.UpdateFunc) func(p process) error {
	return func(p process) error {
		_, err := p.Update(context.Background(), room, fn)
		return err
	}
}

func read(p process) error {
	_, err := p.Read(context.Background(), room)
	return err
}
