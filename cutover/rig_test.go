package cutover_test

import (
	"context"
	_ "embed"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/internal/testing/contract"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// rig is an old Redis, and a new one behind a Codis proxy.
type rig struct {
	t       testing.TB
	proxies [2]*proxytest.Proxy
}

func newRig(t testing.TB) *rig {
	r := &rig{t: t}
	for i, profile := range []*proxycompat.Profile{proxycompat.Redis(), proxycompat.Codis32()} {
		p, err := proxytest.Start(proxytest.Config{Profile: profile, Engines: i + 1, InMemory: true})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, p.Close()) })
		r.proxies[i] = p
	}
	return r
}

// bubble runs a test on fake time.
func bubble(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newRig(t)) })
}

// sleep is for tests in a bubble.
func sleep(d time.Duration) { time.Sleep(d) }

// process is all that a process opens.
type process struct {
	*cutover.Store
	clients [2]*redis.Client
	sides   [2]io.Closer
	lockers [2]lock.Locker
}

func (p process) Close() error {
	errs := []error{p.Store.Close()}
	for _, s := range p.sides {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// open starts a process.
func (r *rig) open(stage cutover.Source, networks ...network) process {
	return r.openWith(cutover.Config{Stage: stage}, networks...)
}

func (r *rig) openWith(config cutover.Config, networks ...network) process {
	n := network{}
	if len(networks) > 0 {
		n = networks[0]
	}
	cfg := lockupdate.Config{Lease: n.lease}
	if n.direct {
		cfg.LockName = func(key string) string { return "/direct/" + key }
	}
	sides := [2]cutover.Side{}
	var p process
	for i, proxy := range r.proxies {
		options := proxy.Options()
		if n.direct {
			options = proxy.CalmOptions()
		}
		rdb := redis.NewClient(options)
		rdb.AddHook(n)
		store := lockupdate.New(rdb, cfg)
		sides[i] = cutover.Side{Store: store, Redis: rdb}
		p.clients[i], p.sides[i], p.lockers[i] = rdb, store, store
		r.t.Cleanup(func() { _ = rdb.Close() })
	}
	p.Store = cutover.New(sides[0], sides[1], config)
	r.t.Cleanup(func() { _ = p.Close() })
	return p
}

// direct starts a process that no fault strikes, and whose locks no other process takes.
func (r *rig) direct() process { return r.open(cutover.Stage{}, network{direct: true}) }

// network is between a process and both stores. A flush takes a while, so that no two events are of
// the same moment of the fake time.
type network struct {
	// direct spells commands as package contract does, so that faults leave them alone.
	direct bool
	// control changes the script of a move.
	control func(script string) string
	// replicas answers a WAIT that shares its pipeline with a touch, and 0 answers any other.
	replicas int
	// waits, if set, is told of the touches before each such WAIT.
	waits func(touches int)
	// lease of the locks; 0: the default.
	lease time.Duration
}

//go:embed internal/marker/marker.lua
var markerScript string

// flush is the time of a round trip.
const flush = 50 * time.Microsecond

func (n network) pass(cmds ...redis.Cmder) {
	time.Sleep(flush)
	for _, cmd := range cmds {
		args := cmd.Args()
		name, _ := args[0].(string)
		if n.control != nil && name == "evalsha" && len(args) > 5 && args[2] == 1 {
			if _, isStep := args[4].(string); isStep && isMove(args) {
				args[0], args[1] = "eval", n.control(markerScript)
			}
		}
		if n.direct {
			args[0] = contract.Mark(name)
		}
	}
}

// isMove says whether the EVALSHA is of the script of a move.
func isMove(args []any) bool { return args[1] == redis.NewScript(markerScript).Hash() }

func (network) DialHook(next redis.DialHook) redis.DialHook { return next }

func (n network) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		n.pass(cmd)
		return next(ctx, cmd)
	}
}

func (n network) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		n.pass(cmds...)
		if wait, ok := cmds[len(cmds)-1].(*redisx.Command); ok && len(cmds) > 1 && wait.Args()[0] == "wait" {
			wait.SetVal(int64(n.replicas))
			if n.waits != nil {
				n.waits(len(cmds) - 1)
			}
			cmds = cmds[:len(cmds)-1]
		}
		return next(ctx, cmds)
	}
}
