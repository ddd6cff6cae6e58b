package cutover_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// Two keys that cannot move are in two stores: the error names them, and nothing is written.
func TestTransactWithoutACommonHome(t *testing.T) {
	for _, stage := range []cutover.Stage{follow, forward, reverse} {
		bubble(t, func(t *testing.T, r *rig) {
			large := strings.Repeat("x", 2<<20)
			for i, at := range []cutover.Stage{follow, forward} {
				r.openWith(cutover.Config{Stage: at, MaxSeal: 4 << 20}).put(couple[i], rmw.String(large))
			}
			sleep(time.Second)
			for range 2 { // the second time it is remembered
				_, err := rmw.Transact(t.Context(), r.open(stage), addTo("x", couple...), couple...)
				require.ErrorIs(t, err, rmw.ErrUnavailable)
				require.ErrorContains(t, err, `key "first" is in the old store and key "second" in the new one`)
				require.ErrorContains(t, err, "docs/cutover.md")
				require.NotErrorIs(t, err, rmw.ErrOutcomeUnknown)
			}
			sleep(time.Second)
			r.requireAt(0, first)
			r.requireAt(1, second)
			for _, key := range couple {
				v, err := r.direct().Read(t.Context(), key)
				require.NoError(t, err)
				require.Equal(t, large, v.Text())
			}
		})
	}
}

// ctx ends at each step of the move of one key, while the other key is at its new home: nothing is lost, the other
// key serves, and the next call goes on.
func TestTransactEndsHalfway(t *testing.T) {
	for _, way := range [][2]cutover.Stage{{follow, forward}, {forward, reverse}} {
		for _, step := range []string{"look", "reserve", "seal", "fill", "mark"} {
			for _, action := range []proxytest.Action{proxytest.DropRequest, proxytest.DropReply} {
				run(t, fmt.Sprint(way, step, action), func(t *testing.T, r *rig) {
					before := r.open(way[0])
					for _, key := range couple {
						before.put(key, rmw.String("v,"))
					}
					sleep(time.Second)
					ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
					defer cancel()
					var heals [2]func()
					for i, p := range r.proxies {
						heals[i] = p.Inject(proxytest.Fault{Times: -1, Action: action, Match: func(args []string) bool {
							return isStep(step)(args) && args[3] == second.Name
						}})
					}
					_, err := rmw.Transact(ctx, r.open(way[1]), addTo("x", couple...), couple...)
					for _, heal := range heals {
						heal()
					}
					want := "v,"
					if err == nil { // the step was not needed, or not waited for
						want = "v,x,"
					} else {
						require.NotErrorIs(t, err, rmw.ErrOutcomeUnknown)
						require.True(t, errors.Is(err, rmw.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded), "%v", err)
					}
					sleep(time.Second)
					for _, key := range couple {
						v, err := r.open(way[1]).Read(t.Context(), key)
						require.NoError(t, err)
						require.Equal(t, want, v.Text())
					}
					r.open(way[1]).transact(addTo("y", couple...), couple...)
					sleep(time.Second)
					home := 1
					if way[1].Phase == cutover.Reverse {
						home = 0
					}
					r.requireAt(home, couple...)
					for _, key := range couple {
						v, err := r.direct().Read(t.Context(), key)
						require.NoError(t, err)
						require.Equal(t, want+"y,", v.Text())
					}
					require.Zero(t, r.verify(4).Wrong())
				})
			}
		}
	}
}
