package cutover_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// A process that finds the key absent in both stores is slow. Meanwhile a second one writes the key to the
// old store, and a third one seals it there and stops. No late command of the first one loses the value.
func TestKeyIsCreatedWhileAnotherProcessFindsItAbsent(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		for _, proxy := range r.proxies {
			proxy.Inject(proxytest.Fault{
				Match:  isStep("unreserve"),
				Action: proxytest.ExecuteLater, Delay: 10 * time.Second, Times: -1,
			})
		}
		slow := r.open(forward)
		_, err := slow.Update(t.Context(), room, func(_ context.Context, cur rmw.Value) (rmw.Value, error) { return cur, nil })
		require.NoError(t, err)
		require.NoError(t, update(add("x"))(r.open(follow)))
		heal := r.drop("fill")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = r.open(forward).Update(ctx, room, add("y"))
		require.Error(t, err)
		heal()
		require.Equal(t, "list", r.where(room.Name)[0], "the seal")
		sleep(time.Minute) // the late command, and the lease of the third process
		requireText(t, r.open(follow), "x,")
	})
}
