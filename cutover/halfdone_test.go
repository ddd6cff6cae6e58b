package cutover_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/cutover/operate"
)

// Verify counts the keys that a crash has left on their way, with their age. A sweep that moves nothing completes their moves.
func TestSweepCompletesInEveryPhase(t *testing.T) {
	for _, stage := range []cutover.Stage{follow, complete, {Phase: cutover.Copying}, frozen(reverse)} {
		for _, way := range []cutover.Stage{forward, reverse} {
			for last, next := range map[string]string{"seal": "fill", "fill": "mark"} {
				runShort(t, fmt.Sprint(stage, way, last), stage.Phase == cutover.Follow, func(t *testing.T, r *rig) {
					r.fill(4)
					home := [2]string{"list", "string"}
					if way.Phase == cutover.Reverse {
						r.swept(forward)
						home = [2]string{"string", "list"}
						if stage.Phase == cutover.Complete && last == "seal" {
							home = [2]string{"list", "string"} // no process looks at the old store
						}
					}
					r.stopAt(next, r.open(way))
					sleep(30 * time.Second)
					report := r.verify(3)
					assert.Zero(t, report.Wrong())
					p := r.open(stage)
					pass := p.sweep(r.old(4))
					require.NoError(t, p.Close())
					want := 4
					if way.Phase == cutover.Reverse && last == "fill" {
						want = 0 // the old store serves; the seal in the new one is harmless
					} else {
						assert.InDelta(t, 30*time.Second, report.OldestTransit, float64(15*time.Second))
					}
					assert.Equal(t, [2]int{want, 4 - want}, [2]int{report.Transit.Count, report.Open})
					assert.Equal(t, operate.Pass{Scanned: pass.Scanned, Completed: want, Kept: 4 - want}, pass)
					assert.Equal(t, home, r.where("k1"))
					r.requireFilled(4)
				})
			}
		}
	}
}

// A killed sweep leaves half-done moves. One sweep after a change of direction takes them to where the stage wants
// them: none ends at the other side.
func TestSweepTurnsHalfDoneMoves(t *testing.T) {
	for _, way := range []struct {
		name         string
		killed, then cutover.Stage
		home         string // the type of a string's name in the old store
	}{
		{"back", forward, reverse, "string"},
		{"forward", reverse, forward, "list"},
	} {
		t.Run(way.name, func(t *testing.T) {
			for n, finished := 0, false; !finished && !t.Failed(); n++ {
				bubble(t, func(t *testing.T, r *rig) {
					r.fill(4)
					if way.killed.Phase == cutover.Reverse {
						r.swept(forward)
					}
					sent := 0
					heal := r.dropFrom(func(args []string) bool {
						if strings.HasPrefix(args[0], "eval") {
							sent++
						}
						return sent > n
					})
					p := r.open(way.killed)
					_, _ = operate.Sweep(t.Context(), p.Store, r.old(3))
					_ = p.Close()
					heal()
					finished = sent <= n
					assert.Zero(t, r.swept(way.then).Failed.Count)
					report := r.verify(8)
					assert.Zero(t, report.Wrong()+report.Transit.Count)
					assert.Equal(t, way.then.Phase == cutover.Reverse, report.AtOld())
					for i := 1; i < 4; i++ {
						assert.Equal(t, way.home, r.where(fmt.Sprint("k", i))[0], "k%d, killed after %d commands", i, n)
					}
					r.requireFilled(4)
				})
			}
		})
	}
}
