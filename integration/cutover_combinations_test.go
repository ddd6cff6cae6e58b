package integration

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/cutover/operate"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// place is one of the stores of a combination.
type place struct {
	profile *proxycompat.Profile
	addrs   []string // of the server, or of each proxy
	masters []string // behind the proxies
	nodes   []string // of a Redis Cluster
	watch   bool     // a process with package cas is among the others

	sentinels *servers.Sentinels
}

// client returns a new client over all addresses.
func (p place) client(t *testing.T) redis.UniversalClient {
	var rdb redis.UniversalClient
	switch {
	case p.sentinels != nil:
		rdb = redis.NewFailoverClient(&redis.FailoverOptions{
			MasterName: p.sentinels.Name(), SentinelAddrs: p.sentinels.Addrs(), Protocol: 2, DisableIdentity: true,
		})
	case p.nodes != nil:
		rdb = redis.NewClusterClient(&redis.ClusterOptions{Addrs: p.nodes, Protocol: 2, DisableIdentity: true})
	default:
		options := proxycompat.Options(p.profile, p.addrs[0])
		if len(p.addrs) > 1 {
			options.Dialer = proxycompat.RoundRobinDialer(options.Dialer, p.addrs...)
		}
		rdb = redis.NewClient(options)
	}
	t.Cleanup(func() { assert.NoError(t, rdb.Close()) })
	return rdb
}

// open returns a Side of a process.
func (p place) open(t *testing.T, process int) cutover.Side {
	rdb := p.client(t)
	if p.watch && process == 1 {
		return cutover.Side{Store: cas.New(rdb, cas.Config{MaxAttempts: 1000}), Redis: rdb}
	}
	store := lockupdate.New(rdb, lockupdate.Config{})
	t.Cleanup(func() { assert.NoError(t, store.Close()) })
	return cutover.Side{Store: store, Redis: rdb}
}

// scanners returns clients of all masters.
func (p place) scanners(t *testing.T) (all []operate.Scanner) {
	masters := p.masters
	if masters == nil {
		masters = slices.Concat(p.nodes, p.addrs)
	}
	for _, addr := range masters {
		all = append(all, client(t, addr))
	}
	return all
}

func onOneRedis(t *testing.T) place {
	return place{profile: proxycompat.Redis(), addrs: []string{servers.Redis(t).Addr}, watch: true}
}

func bySentinels(t *testing.T) place {
	all := servers.NewSentinels(t, 0, 3)
	return place{sentinels: all, addrs: []string{"sentinel://" + strings.Join(all.Addrs(), ",") + "/" + all.Name()}}
}

func onCluster(t *testing.T) (p place) {
	p.profile = proxycompat.Redis()
	for _, node := range servers.Cluster(t, 3) {
		p.nodes = append(p.nodes, node.Addr)
	}
	return p
}

func twoMasters(t *testing.T) []string { return []string{servers.Redis(t).Addr, servers.Redis(t).Addr} }

func byNutcracker(proxies int) func(t *testing.T) place {
	return func(t *testing.T) place {
		p := place{profile: proxycompat.Twemproxy05(), masters: twoMasters(t)}
		for range proxies {
			p.addrs = append(p.addrs, servers.Nutcracker(t, p.masters, 2).Addr)
		}
		return p
	}
}

func byCodis(proxies int) func(t *testing.T) place {
	return func(t *testing.T) place {
		p := place{profile: proxycompat.Codis32(), masters: twoMasters(t)}
		for range proxies {
			proxy, err := proxytest.Start(proxytest.Config{Backends: p.masters, Parallel: 2})
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, proxy.Close()) })
			p.addrs = append(p.addrs, proxy.Addr())
		}
		return p
	}
}

// combination is a cut-over of a service with two processes.
type combination struct {
	t      *testing.T
	places [2]place
	sides  [2]cutover.Side // of the administrator
	counts [10]atomic.Int64
}

func newCombination(t *testing.T, old, new place) *combination {
	c := &combination{t: t, places: [2]place{old, new}}
	for i, p := range c.places {
		c.sides[i] = p.open(t, 0)
	}
	return c
}

// start starts the service; stop ends it.
func (c *combination) start() (stop func()) {
	ctx, cancel := context.WithCancel(c.t.Context())
	var service sync.WaitGroup
	for process := range 2 {
		old, new := c.places[0].open(c.t, process), c.places[1].open(c.t, 0)
		service.Go(func() { c.serve(ctx, old, new, process) })
	}
	return func() {
		cancel()
		service.Wait()
	}
}

func (c *combination) serve(ctx context.Context, old, new cutover.Side, process int) {
	stage := cutover.FromKey("desk", old.Store, new.Store)
	heartbeat, err := cutover.StartHeartbeat("desk", old.Store, stage)
	if !assert.NoError(c.t, err) {
		return
	}
	store := cutover.New(old, new, cutover.Config{Stage: stage, Heartbeat: heartbeat, MaxAttempts: 1000})
	defer func() { assert.NoError(c.t, errors.Join(store.Close(), heartbeat.Close(), stage.Close())) }()
	every := time.NewTicker(2 * time.Millisecond) // leaves time to emulated proxies
	defer every.Stop()
	for n := process; ctx.Err() == nil; n++ {
		<-every.C
		i := n % len(c.counts)
		_, err := store.Update(context.WithoutCancel(ctx), rmw.Key{Name: fmt.Sprint("room:", i)}, plusOne)
		if assert.NoError(c.t, err) {
			c.counts[i].Add(1)
		}
	}
}

// await waits until both processes have seen the stage and have updated every key since.
func (c *combination) await() {
	c.t.Helper()
	every := time.NewTicker(10 * time.Millisecond)
	defer every.Stop()
	for range every.C {
		stage, err := cutover.Current(c.t.Context(), "desk", c.sides[0].Store, c.sides[1].Store)
		require.NoError(c.t, err)
		census, err := operate.Census(c.t.Context(), "desk", c.sides[0].Store)
		require.NoError(c.t, err)
		if len(census) == 2 && census[0].Epoch == stage.Epoch && census[1].Epoch == stage.Epoch {
			break
		}
	}
	for i := range c.counts {
		for before := c.counts[i].Load(); c.counts[i].Load() < before+2; {
			<-every.C
		}
	}
}

// operator takes the steps of the runbook.
type operator interface {
	advance()
	reverse()
	sweep() (moved bool)
	verify(atOld bool)
}

// commander is an operator with migrate-check.
type commander struct {
	*combination
	program string
	at      []string // flags of the stores
	masters []string // flags of their servers
	passes  string   // the file of -passes
}

func newCommander(c *combination, program string) commander {
	op := commander{c, program, []string{"-name", "desk"}, nil, filepath.Join(c.t.TempDir(), "passes.json")}
	for i, p := range c.places {
		side, masters := []string{"-old", "-new"}[i], p.masters
		op.at = append(op.at, side, strings.Join(p.addrs, ","))
		if i == 1 && masters == nil {
			masters = p.addrs
		}
		if masters != nil {
			op.masters = append(op.masters, side+"-masters", strings.Join(masters, ","))
		}
	}
	return op
}

func (c commander) run(action string, args ...string) (code int, text string) {
	patient := []string{"-timeout", "5m"} // all combinations share the machine
	cmd := exec.CommandContext(c.t.Context(), c.program, slices.Concat([]string{"cutover", action}, c.at, patient, args)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		_, exited := errors.AsType[*exec.ExitError](err)
		require.True(c.t, exited, err)
	}
	return cmd.ProcessState.ExitCode(), strings.Join(strings.Fields(string(out)), " ")
}

func (c commander) must(action string, args ...string) string {
	c.t.Helper()
	code, text := c.run(action, args...)
	require.Zero(c.t, code, "%s: %s", action, text)
	return text
}

// walk runs sweep or verify over all servers.
func (c commander) walk(action string, args ...string) string {
	c.t.Helper()
	return c.must(action, slices.Concat(c.masters, []string{"-passes", c.passes}, args)...)
}

func (c commander) advance() { c.must("advance", append(c.masters, "-percent", "100")...) }

func (c commander) reverse() { c.must("reverse") }

func (c commander) sweep() bool { return strings.Contains(c.walk("sweep"), "This pass moved keys") }

func (c commander) verify(atOld bool) {
	c.t.Helper()
	assert.Equal(c.t, atOld, strings.Contains(c.walk("verify"), "Every key is in the old store"))
}

// program is an operator with the package alone: the command does not follow the redirections of a Redis Cluster.
type program struct {
	*combination
	store *cutover.Store
	cfg   operate.SweepConfig
}

func newProgram(c *combination) program {
	stage := cutover.FromKey("desk", c.sides[0].Store, c.sides[1].Store)
	p := program{c, cutover.New(c.sides[0], c.sides[1], cutover.Config{Stage: stage}), operate.SweepConfig{
		Masters: c.places[0].scanners(c.t), NewMasters: c.places[1].scanners(c.t),
	}}
	c.t.Cleanup(func() { assert.NoError(c.t, errors.Join(p.store.Close(), stage.Close())) })
	return p
}

func (p program) publish(next cutover.Stage, gates ...operate.Gate) {
	p.t.Helper()
	ctx := p.t.Context()
	present, err := cutover.Current(ctx, "desk", p.sides[0].Store, p.sides[1].Store)
	require.NoError(p.t, err)
	census, err := operate.Census(ctx, "desk", p.sides[0].Store)
	require.NoError(p.t, err)
	next.Epoch = present.Epoch
	gates = append(gates, operate.Ready(present, next, operate.Evidence{Name: "desk", Census: census})...)
	require.NoError(p.t, operate.Publish(ctx, "desk", p.sides[0].Store, p.sides[1].Store, next, gates...))
}

func (p program) advance() {
	gates, err := operate.Preflight(p.t.Context(), p.store, p.cfg)
	require.NoError(p.t, err)
	p.publish(cutover.Stage{Phase: cutover.Copying, Percent: 100}, gates...)
}

func (p program) reverse() { p.publish(cutover.Stage{Phase: cutover.Reverse}) }

func (p program) sweep() bool {
	require.NoError(p.t, operate.CheckStores(p.t.Context(), p.store, p.cfg))
	pass, err := operate.Sweep(p.t.Context(), p.store, p.cfg)
	require.NoError(p.t, err)
	require.Zero(p.t, pass.Stay()+pass.Failed.Count)
	return pass.Moved+pass.Completed+pass.Freed > 0
}

func (p program) verify(atOld bool) {
	p.t.Helper()
	report, err := operate.Verify(p.t.Context(), p.store, p.cfg)
	require.NoError(p.t, err)
	assert.Zero(p.t, report.Wrong(), "%+v", report)
	assert.Equal(p.t, atOld, report.AtOld(), "%+v", report)
}

// Each supported row of the table in docs/cutover.md: the keys of two processes that update them, and idle ones, move
// to the new store and back. Nothing is lost, and both verifies are clean.
func TestLongCombinations(t *testing.T) {
	t.Parallel()
	long.Only(t)
	command := migrateCheck(t)
	for name, of := range map[string]struct {
		old, new func(t *testing.T) place
		alone    bool
	}{
		"redis to redis":                     {old: onOneRedis, new: onOneRedis},
		"redis to two nutcrackers":           {old: onOneRedis, new: byNutcracker(2)},
		"redis to a codis proxy":             {old: onOneRedis, new: byCodis(1)},
		"redis to two codis proxies":         {old: onOneRedis, new: byCodis(2)},
		"a nutcracker to redis":              {old: byNutcracker(1), new: onOneRedis},
		"two nutcrackers to nutcracker":      {old: byNutcracker(2), new: byNutcracker(1)},
		"a nutcracker to two codis proxies":  {old: byNutcracker(1), new: byCodis(2)},
		"two codis proxies to redis":         {old: byCodis(2), new: onOneRedis},
		"a codis proxy to two nutcrackers":   {old: byCodis(1), new: byNutcracker(2)},
		"two codis proxies to two, of codis": {old: byCodis(2), new: byCodis(2)},
		"redis to sentinels":                 {old: onOneRedis, new: bySentinels},
		"sentinels to two nutcrackers":       {old: bySentinels, new: byNutcracker(2)},
		"redis to cluster":                   {old: onOneRedis, new: onCluster, alone: true},
		"cluster to a nutcracker":            {old: onCluster, new: byNutcracker(1), alone: true},
		"cluster to cluster":                 {old: onCluster, new: onCluster, alone: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCombination(t, of.old(t), of.new(t))
			const idle = 200
			for i := range idle {
				_, err := c.sides[0].Store.Update(t.Context(), rmw.Key{Name: fmt.Sprint("room:idle:", i)}, plusOne)
				require.NoError(t, err)
			}
			stop := sync.OnceFunc(c.start())
			t.Cleanup(stop)
			var op operator = newCommander(c, command)
			if of.alone {
				op = newProgram(c)
			}
			c.await()
			for _, back := range []bool{false, true} {
				if back {
					op.reverse()
				} else {
					op.advance()
				}
				c.await()
				for op.sweep() {
					c.await()
				}
				op.verify(back)
			}
			stop()
			for i := range c.counts {
				v, err := c.sides[0].Store.Read(t.Context(), rmw.Key{Name: fmt.Sprint("room:", i)})
				require.NoError(t, err)
				assert.Equal(t, fmt.Sprint(c.counts[i].Load()), v.Text(), i)
			}
			for i := range idle {
				v, err := c.sides[0].Store.Read(t.Context(), rmw.Key{Name: fmt.Sprint("room:idle:", i)})
				require.NoError(t, err)
				assert.Equal(t, "1", v.Text())
			}
		})
	}
}

// The probe keys are spread over all servers of a twemproxy, whose hash hardly spreads names with a common beginning.
func TestProbesReachEveryServer(t *testing.T) {
	t.Parallel()
	c := newCombination(t, onOneRedis(t), byNutcracker(1)(t))
	p := newProgram(c)
	for range 50 {
		require.NoError(t, operate.CheckStores(t.Context(), p.store, p.cfg))
	}
}

// The command refuses a node of a Redis Cluster.
func TestLongCommandRefusesAClusterNode(t *testing.T) {
	t.Parallel()
	long.Only(t)
	program, node, one := migrateCheck(t), servers.Cluster(t, 3)[0].Addr, servers.Redis(t).Addr
	for _, at := range [][2]string{{one, node}, {node, one}} {
		c := newCommander(newCombination(t, onOneRedis(t), onOneRedis(t)), program)
		c.at = []string{"-name", "desk", "-old", at[0], "-new", at[1]}
		for _, action := range []string{"plan", "sweep", "verify"} {
			code, text := c.run(action)
			assert.NotZero(t, code)
			assert.Contains(t, text, "MOVED", action)
		}
	}
}
