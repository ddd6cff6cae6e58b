package transport

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A flush that is late, and answered then, has keys told apart for a moment only, although calls with new keys are always in lanes.
func TestKeysAreToldApartBriefly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := false
		r := newRig(t, func(int) time.Duration {
			if late {
				late = false
				return 50 * time.Millisecond
			}
			return time.Millisecond
		})
		require.NoError(t, sendWays["Send"](r, r.read("a")))
		late = true
		go r.Send(context.Background(), r.read("b"))
		synctest.Wait()
		time.Sleep(30 * time.Millisecond)
		require.NoError(t, sendWays["Send"](r, r.read("c")))
		require.True(t, r.batcher.toldApart(), "not late")

		over := time.Now().Add(200 * time.Millisecond)
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond / 8)
				for n := 0; time.Now().Before(over); n++ {
					r.Send(context.Background(), r.read(fmt.Sprint(i, "-", n)))
				}
			})
		}
		time.Sleep(100 * time.Millisecond)
		assert.False(t, r.batcher.toldApart())
		all.Wait()
		r.idle(t)
	})
}
