package cutover_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/cutover/operate"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// full makes a store that has no room: it refuses the steps that write a marker or a value.
func (r *rig) full(side int) (room func()) {
	return r.proxies[side].Inject(proxytest.Fault{
		Times: -1, Action: proxytest.RefuseWith, Text: "OOM command not allowed when used memory > 'maxmemory'.",
		Match: func(args []string) bool {
			steps := []string{"reserve", "seal", "fill", "mark", "touch"}
			return slices.ContainsFunc(steps, func(step string) bool { return isStep(step)(args) })
		},
	})
}

// A store is full. No key is sealed for it, in either direction, by a sweep or an update: each key stays where it is, and
// can be read. Once the store has room, the keys move.
func TestAFullStoreTakesNoKeyOutOfService(t *testing.T) {
	for _, stage := range []cutover.Stage{forward, reverse} {
		bubble(t, func(t *testing.T, r *rig) {
			r.fill(20)
			home := [2]string{"string", "none"}
			into := 1
			if stage.Phase == cutover.Reverse {
				into, home = 0, [2]string{"list", "string"}
				r.swept(forward)
			}
			heal := r.full(into)
			p := r.open(stage)
			pass, err := operate.Sweep(t.Context(), p.Store, r.old(16))
			require.ErrorContains(t, err, "OOM")
			assert.Equal(t, 16, pass.Failed.Count)
			_, err = p.Update(t.Context(), rmw.Key{Name: "k1"}, add("x"))
			require.ErrorContains(t, err, "OOM")
			assert.Equal(t, home, r.where("k1"))
			assert.Zero(t, r.verify(8).Transit.Count)
			r.requireFilled(20)
			heal()
			assert.Equal(t, 20, p.sweep(r.old(16)).Moved)
			r.requireFilled(20)
		})
	}
}
