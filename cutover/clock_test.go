package cutover_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
)

// ahead makes the clock of a server an hour fast, for the script of a move.
func ahead(script string) string {
	return strings.Replace(script, "t[1] * 1000", "(t[1] + 3600) * 1000", 1)
}

// durations is a negative control: the value has the time left that it had when it was sealed.
func durations(script string) string {
	return strings.Replace(script, "math.max(0, pttl - (time() - at))", "tonumber(pttl)", 1)
}

// A process stops after it has sealed a key, and another one moves it on, 20 seconds later. The clock of
// one server is an hour ahead. Negative control: the seal does not keep the time.
func TestExpiryWithClocksApart(t *testing.T) {
	left := func(r *rig, fast int, control func(string) string) time.Duration {
		open := func() process {
			p := r.open(forward)
			p.clients[fast].AddHook(network{control: func(script string) string { return ahead(control(script)) }})
			p.clients[1-fast].AddHook(network{control: control})
			return p
		}
		began := r.sealed(time.Minute, open())
		sleep(20*time.Second - time.Since(began))
		_, err := open().Sweep(r.t.Context(), r.sweep(16))
		require.NoError(r.t, err)
		require.Equal(r.t, [2]string{"list", "string"}, r.where(room.Name))
		_, left, err := r.open(forward).Peek(r.t.Context(), room)
		require.NoError(r.t, err)
		return left + time.Since(began)
	}
	require.NotEqual(t, markerScript, ahead(markerScript))
	for fast := range 2 {
		t.Run(fmt.Sprint("side ", fast), func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				got := left(r, fast, func(script string) string { return script })
				assert.InDelta(t, time.Minute, got, float64(5*time.Millisecond))
			})
			bubble(t, func(t *testing.T, r *rig) {
				assert.Greater(t, left(r, fast, durations), time.Minute+5*time.Second, "the control")
			})
		})
	}
}

// sealed puts a value with an expiry into the old store, where a sweep of the process seals it and stops.
func (r *rig) sealed(ttl time.Duration, p process) (began time.Time) {
	require.NoError(r.t, update(set(rmw.String("v").WithTTL(ttl)))(r.open(follow)))
	began = time.Now()
	heal := r.drop("fill")
	_, _ = p.Sweep(r.t.Context(), r.sweep(16))
	heal()
	require.Equal(r.t, [2]string{"list", "list"}, r.where(room.Name))
	return began
}

// A value expires while it is sealed. The next process that looks finds nothing.
func TestExpiryWhileSealed(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.sealed(time.Minute, r.open(forward))
		sleep(time.Minute)
		v, err := r.open(follow).Read(t.Context(), room)
		require.NoError(t, err)
		assert.False(t, v.Exists())
		assert.Equal(t, "none", r.where(room.Name)[1])
	})
}
