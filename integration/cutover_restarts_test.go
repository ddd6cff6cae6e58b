package integration

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/proxycompat"
)

// restartInTurn kills and restarts one of the servers every second, until ended is called.
func restartInTurn(t *testing.T, all []*servers.Server) (restarts *atomic.Int64, ended func()) {
	restarts = new(atomic.Int64)
	ctx, cancel := context.WithCancel(t.Context())
	var loop sync.WaitGroup
	loop.Go(func() {
		every := time.NewTicker(time.Second)
		defer every.Stop()
		for i := 0; ; i++ {
			select {
			case <-every.C:
			case <-ctx.Done():
				return
			}
			server := all[i%len(all)]
			if assert.NoError(t, server.Kill()) && assert.NoError(t, server.Restart(context.WithoutCancel(ctx))) {
				restarts.Add(1)
			}
		}
	})
	ended = sync.OnceFunc(func() {
		cancel()
		loop.Wait()
	})
	t.Cleanup(ended)
	return restarts, ended
}

// A sweep and a verify of 14,000 keys end although each of two proxies restarts in turn, one of them every second.
func TestLongPassesOverRestartingProxies(t *testing.T) {
	t.Parallel()
	long.Only(t)
	const keys = 14_000
	p := place{profile: proxycompat.Twemproxy05(), masters: twoMasters(t)}
	var proxies []*servers.Server
	for range 2 {
		proxies = append(proxies, servers.Nutcracker(t, p.masters, 2))
		p.addrs = append(p.addrs, proxies[len(proxies)-1].Addr)
	}
	c := newCombination(t, onOneRedis(t), p)
	stop := sync.OnceFunc(c.start())
	t.Cleanup(stop)
	op := newCommander(c, migrateCheck(t))
	c.await()
	op.advance()
	c.await()
	stop()
	old := client(t, c.places[0].addrs[0])
	pipe := old.Pipeline()
	for i := range keys {
		pipe.Set(t.Context(), fmt.Sprint("room:idle:", i), "v", 0)
	}
	_, err := pipe.Exec(t.Context())
	require.NoError(t, err)
	restarts, ended := restartInTurn(t, proxies)
	code, text := op.run("sweep", "-rate", "2000", "-new", proxies[0].Addr, "-max-outage", "0s")
	assert.NotZero(t, code, "control: one address, and no wait for it: %s", text)
	for range 2 {
		text = op.walk("sweep", "-rate", "2000")
		assert.Contains(t, text, "FAILED: no answer 0")
	}
	text = op.walk("verify", "-rate", "2000")
	assert.Contains(t, text, "moved, equal to the marker's value 14,000")
	ended()
	t.Logf("%d restarts", restarts.Load())
	assert.Greater(t, restarts.Load(), int64(10))
	records, err := os.ReadFile(op.passes)
	require.NoError(t, err)
	assert.Equal(t, 3, strings.Count(string(records), `"began"`))
}
