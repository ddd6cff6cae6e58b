package lockupdate_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/contract"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// newBench returns an in-process proxy with two backends, or one server, on fake time.
func newBench(profile *proxycompat.Profile, cfg lockupdate.Config) contract.Bench {
	engines := 2
	if profile.Server() {
		engines = 1
	}
	return contract.Bench{
		Proxy: proxytest.Config{Profile: profile, Engines: engines, InMemory: true},
		Open:  func(rdb *redis.Client) rmw.Store { return lockupdate.New(rdb, cfg) },
	}
}

func TestContract(t *testing.T) {
	codis := proxycompat.Codis32().Name()
	for _, name := range []string{codis, "twemproxy", "redis", "codis@3.2", "twemproxy@3.2", "redis@3.2"} {
		t.Run(name, func(t *testing.T) {
			if name != codis {
				long.Repeats(t)
			}
			profile, err := proxycompat.Lookup(name)
			require.NoError(t, err)
			newBench(profile, lockupdate.Config{}).RunFake(t)
		})
	}
	for name, cfg := range map[string]lockupdate.Config{
		"sole writer":  {SoleWriter: true},
		"no combining": {NoCombining: true},
		"linger":       {Linger: 5 * time.Millisecond},
		"master reads": {MasterReads: true},
		"on demand":    {LockOnDemand: true},
	} {
		t.Run(name, func(t *testing.T) {
			if cfg.SoleWriter || cfg.MasterReads {
				long.Repeats(t)
			}
			newBench(proxycompat.Codis32(), cfg).RunFake(t)
		})
	}
}
