package cutover_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow"
)

// A shadow before a cut-over writes beside the names that move. The control mirrors onto them.
func TestShadowBesideTheNames(t *testing.T) {
	for name, tc := range map[string]struct {
		candidate func(rmw.Store) rmw.Store
		gates     []string // that are closed
	}{
		"beside":  {cutover.Beside, nil},
		"control": {func(s rmw.Store) rmw.Store { return s }, []string{"own keys, new", "two homes"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				p := r.open(follow)
				serving, candidate := p.lockers[0].(*lockupdate.Store), p.lockers[1].(*lockupdate.Store)
				s := shadow.New(serving, tc.candidate(candidate), shadow.Config{})
				for range 3 {
					_, err := s.Update(t.Context(), room, add("x"))
					require.NoError(t, err)
				}
				require.NoError(t, s.Drain(t.Context()))
				require.NoError(t, s.Close())
				for _, op := range s.Report().Operations {
					assert.Empty(t, op.Findings)
				}
				gates, err := p.Preflight(t.Context(), r.both(16))
				require.NoError(t, err)
				var closed []string
				for _, g := range gates {
					if g.State == cutover.GateClosed {
						closed = append(closed, g.Name)
					}
				}
				assert.Equal(t, tc.gates, closed)
				_, peeks := rmw.As[rmw.Peeker](cutover.Beside(candidate))
				assert.True(t, peeks)
				_, peeks = rmw.As[rmw.Peeker](cutover.Beside(&place{}))
				assert.False(t, peeks)
			})
		})
	}
}
