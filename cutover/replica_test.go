package cutover_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// Both stores are behind proxies that send GET to a replica, a minute behind. No call reads a stale value, and
// no sweep or verify takes one for a key. Control: GET does.
func TestReplicasAnswerReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t}
		for i := range r.proxies {
			p, err := proxytest.Start(proxytest.Config{Profile: proxycompat.Codis32(), InMemory: true, ReplicaLag: time.Minute})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, p.Close()) })
			r.proxies[i] = p
		}
		cfg := cutover.SweepConfig{Masters: []cutover.Scanner{engine{r.proxies[0].Engine(0)}}}
		want, stale := "", 0
		for i, stage := range []cutover.Stage{follow, forward, follow, reverse, forward, reverse} {
			require.NoError(t, update(add(fmt.Sprint(i)))(r.open(stage)))
			want += fmt.Sprint(i, ",")
			for _, reader := range []cutover.Stage{follow, forward, reverse} {
				v, err := r.open(reader).Read(t.Context(), room)
				require.NoError(t, err)
				require.Equal(t, want, v.Text(), "%v, read at %v", stage, reader)
			}
			r.swept(stage, cfg)
			report, err := r.open(stage).Verify(t.Context(), cfg)
			require.NoError(t, err)
			require.Zero(t, report.Wrong(), "%+v", report)
			for _, c := range r.open(stage).clients {
				if text, err := c.Get(t.Context(), room.Name).Result(); err == nil && text != want {
					stale++
				}
			}
			sleep(20 * time.Second)
		}
		assert.Positive(t, stale)
	})
}
