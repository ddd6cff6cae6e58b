package cutover_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/cutover/operate"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// While a part of the new store hangs and a sweep moves keys there, updates of the other keys go on, moved or not.
func TestHungBackendDuringASweep(t *testing.T) {
	const keys, workers = 60, 8
	hangs := func(name string) bool { return strings.HasSuffix(name, "0") || strings.HasSuffix(name, "5") }
	bubble(t, func(t *testing.T, r *rig) {
		p, operator := r.open(forward), r.open(forward)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		var updates, failed atomic.Int64
		var names []string
		for i := range keys {
			if name := fmt.Sprint("k", i); !hangs(name) {
				names = append(names, name)
			}
		}
		work := func() (perSecond int64) {
			updates.Store(0)
			sleep(2 * time.Second)
			return updates.Load() / 2
		}
		for w := range workers {
			all.Go(func() {
				for i := w; ctx.Err() == nil; i += workers {
					call, end := context.WithTimeout(ctx, 3*time.Second)
					key := rmw.Key{Name: names[i%len(names)], Kind: rmw.KindString}
					if _, err := p.Update(call, key, add("x")); err == nil {
						updates.Add(1)
					} else if ctx.Err() == nil {
						failed.Add(1)
						t.Log(err)
					}
					end()
					sleep(20 * time.Millisecond)
				}
			})
		}
		before := work()
		remove := r.proxies[1].Inject(proxytest.Fault{
			Match: func(args []string) bool {
				return len(args) > 3 && hangs(args[3])
			}, Times: -1, Action: proxytest.HangRequest,
		})
		for i := range keys {
			if name := fmt.Sprint("k", i); hangs(name) {
				assert.NoError(t, r.admin(0).Set(ctx, name, "v", 0).Err())
			}
		}
		all.Go(func() { _, _ = operate.Sweep(ctx, operator.Store, r.old(16)) })
		during := work()
		cancel()
		remove()
		all.Wait()
		t.Logf("updates a second: %d before, %d during the sweep", before, during)
		assert.GreaterOrEqual(t, during, before*9/10)
		assert.Zero(t, failed.Load())
	})
}
