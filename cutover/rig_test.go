package cutover_test

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/cutover/operate"
	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/internal/testing/contract"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/internal/testing/paths"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

var (
	forward  = cutover.Stage{Phase: cutover.Copying, Percent: 100}
	reverse  = cutover.Stage{Phase: cutover.Reverse}
	follow   = cutover.Stage{}
	complete = cutover.Stage{Phase: cutover.Complete}
	room     = rmw.Key{Name: "room", Label: "room"}
)

// flips is a Source that changes its stage often.
type flips = paths.Flips

// at returns the stage with the epoch.
func at(epoch uint64, s cutover.Stage) cutover.Stage { s.Epoch = epoch; return s }

// frozen returns the stage with a freeze.
func frozen(s cutover.Stage) cutover.Stage { s.Freeze = true; return s }

func add(id string) rmw.UpdateFunc {
	return func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		return rmw.String(cur.Text() + id + ","), nil
	}
}

func set(v rmw.Value) rmw.UpdateFunc {
	return func(context.Context, rmw.Value) (rmw.Value, error) { return v, nil }
}

func keep(_ context.Context, cur rmw.Value) (rmw.Value, error) { return cur, nil }

// rig is an old Redis, and a new one behind a Codis proxy.
type rig struct {
	t       testing.TB
	proxies [2]*proxytest.Proxy
}

func newRig(t testing.TB) *rig {
	return start(t, proxytest.Config{Profile: proxycompat.Redis()}, proxytest.Config{Profile: proxycompat.Codis32(), Engines: 2})
}

// start starts the servers of a rig.
func start(t testing.TB, servers ...proxytest.Config) *rig {
	r := &rig{t: t}
	for i, cfg := range servers {
		cfg.InMemory = true
		p, err := proxytest.Start(cfg)
		require.NoError(t, err)
		t.Cleanup(func() {
			for _, c := range p.Calls() {
				requirePermitted(t, cfg.Profile, c)
			}
			require.NoError(t, p.Close())
		})
		r.proxies[i] = p
	}
	return r
}

// requirePermitted requires that the proxy permits the command, and that a script has one key. Handshakes and a
// Preflight try commands that a proxy may refuse.
func requirePermitted(t testing.TB, profile *proxycompat.Profile, c proxytest.Call) {
	switch c.Command() {
	case "HELLO", "CLIENT", "CONFIG", "INFO":
		return
	case "WAIT":
		require.Equal(t, "0", c.Args[1], "a Preflight asks whether the store takes WAIT")
		return
	case "EVAL", "EVALSHA":
		require.Equal(t, "1", c.Args[2])
	}
	require.NoError(t, profile.Check(c.Args...), c.Args[0])
}

// bubble runs a test on fake time.
func bubble(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newRig(t)) })
}

// run runs a subtest on fake time.
func run(t *testing.T, name string, test func(t *testing.T, r *rig)) {
	t.Helper()
	runShort(t, name, true, test)
}

// runShort is run, except that -short leaves out a subtest whose neighbours show the same races.
func runShort(t *testing.T, name string, short bool, test func(t *testing.T, r *rig)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		if !short {
			long.Repeats(t)
		}
		bubble(t, test)
	})
}

// sleep is for tests in a bubble.
func sleep(d time.Duration) { time.Sleep(d) }

// process is all that a process opens. Its methods, except those of the Store, require success.
type process struct {
	*cutover.Store
	t       testing.TB
	clients [2]*redis.Client
	stores  [2]*lockupdate.Store
}

func (p process) Close() error {
	return errors.Join(p.Store.Close(), p.stores[0].Close(), p.stores[1].Close())
}

// change updates the key room.
func (p process) change(fn rmw.UpdateFunc) error {
	_, err := p.Update(p.t.Context(), room, fn)
	return err
}

// add adds the id to the key room.
func (p process) add(id string) {
	p.t.Helper()
	require.NoError(p.t, p.change(add(id)))
}

func (p process) put(key rmw.Key, v rmw.Value) {
	p.t.Helper()
	_, err := p.Update(p.t.Context(), key, set(v))
	require.NoError(p.t, err)
}

// requireText requires the value of the key room.
func (p process) requireText(want string, context ...any) {
	p.t.Helper()
	v, err := p.Read(p.t.Context(), room)
	require.NoError(p.t, err, context...)
	require.Equal(p.t, want, v.Text(), context...)
}

func (p process) peek(key rmw.Key) (v rmw.Value, left time.Duration) {
	p.t.Helper()
	v, left, err := p.Peek(p.t.Context(), key)
	require.NoError(p.t, err)
	return v, left
}

func (p process) sweep(cfg operate.SweepConfig) operate.Pass {
	p.t.Helper()
	pass, err := operate.Sweep(p.t.Context(), p.Store, cfg)
	require.NoError(p.t, err)
	return pass
}

func (p process) verify(cfg operate.SweepConfig) operate.Report {
	p.t.Helper()
	report, err := operate.Verify(p.t.Context(), p.Store, cfg)
	require.NoError(p.t, err)
	return report
}

func (p process) preflight(cfg operate.SweepConfig) []operate.Gate {
	p.t.Helper()
	gates, err := operate.Preflight(p.t.Context(), p.Store, cfg)
	require.NoError(p.t, err)
	return gates
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
	sides, p := [2]cutover.Side{}, process{t: r.t}
	for i, proxy := range r.proxies {
		options := proxy.Options()
		if n.direct {
			options = proxy.CalmOptions()
		}
		rdb := redis.NewClient(options)
		rdb.AddHook(n)
		p.clients[i], p.stores[i] = rdb, lockupdate.New(rdb, cfg)
		sides[i] = cutover.Side{Store: p.stores[i], Redis: rdb}
		r.t.Cleanup(func() { _ = rdb.Close() })
	}
	p.Store = cutover.New(sides[0], sides[1], config)
	r.t.Cleanup(func() { _ = p.Close() })
	return p
}

// direct starts a process that no fault strikes, and whose locks no other process takes.
func (r *rig) direct() process { return r.open(follow, network{direct: true}) }

// admin is a client of one side that no fault strikes.
func (r *rig) admin(side int) *redis.Client {
	rdb := redis.NewClient(r.proxies[side].CalmOptions())
	r.t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// engine is a server behind the proxy.
type engine struct{ *miniredis.Miniredis }

func (e engine) Scan(ctx context.Context, _ uint64, _ string, _ int64) *redis.ScanCmd {
	page := redis.NewScanCmd(ctx, nil)
	page.SetVal(e.Keys(), 0)
	return page
}

// old is a SweepConfig for the old store. Faults strike the scripts only.
func (r *rig) old(batch int) operate.SweepConfig {
	return operate.SweepConfig{Masters: []operate.Scanner{r.admin(0)}, Batch: batch}
}

// both is a SweepConfig for both stores.
func (r *rig) both(batch int) operate.SweepConfig {
	cfg := r.old(batch)
	for i := range r.proxies[1].Backends() {
		cfg.NewMasters = append(cfg.NewMasters, engine{r.proxies[1].Engine(i)})
	}
	return cfg
}

// swept returns the result of a sweep over the old store by a new process.
func (r *rig) swept(stage cutover.Source) operate.Pass {
	r.t.Helper()
	return r.open(stage).sweep(r.old(16))
}

// verify returns the result of a verify of both stores by a new process.
func (r *rig) verify(batch int) operate.Report {
	r.t.Helper()
	p := r.open(follow)
	defer func() { require.NoError(r.t, p.Close()) }()
	return p.verify(r.both(batch))
}

// where returns the type of the key in both stores, as the servers tell it.
func (r *rig) where(name string) (where [2]string) {
	for i := range where {
		kind, err := r.admin(i).Type(context.Background(), name).Result()
		require.NoError(r.t, err)
		where[i] = kind
	}
	return where
}

// fill stores n strings, some of them with an expiry, and every fifth key as a hash.
func (r *rig) fill(n int) {
	rdb := r.admin(0)
	for i := range n {
		name, left := fmt.Sprint("k", i), time.Duration(i%2)*time.Hour
		if i%5 == 0 {
			require.NoError(r.t, rdb.HSet(r.t.Context(), name, "f", name, "g", "").Err())
		} else {
			require.NoError(r.t, rdb.Set(r.t.Context(), name, "value of "+name, left).Err())
		}
	}
}

// requireFilled checks the keys of fill at their home.
func (r *rig) requireFilled(n int) {
	p := r.direct()
	for i := range n {
		key, want := rmw.Key{Name: fmt.Sprint("k", i)}, rmw.String(fmt.Sprint("value of k", i))
		if i%5 == 0 {
			key.Kind, want = rmw.KindHash, rmw.Hash(map[string]string{"f": key.Name, "g": ""})
		}
		v, left := p.peek(key)
		require.True(r.t, v.Equal(want), "%s is %v", key.Name, v)
		if i%5 != 0 && i%2 == 1 {
			require.InDelta(r.t, time.Hour, left, float64(time.Minute), key.Name)
		} else {
			require.Equal(r.t, rmw.NoTTL, left, key.Name)
		}
	}
}

// every matches each command.
func every([]string) bool { return true }

// isStep matches the scripts of this step.
func isStep(name string) func(args []string) bool {
	return func(args []string) bool { return len(args) > 4 && args[4] == name }
}

// dropFrom lets no command be executed from the first one on that matches, until heal.
func (r *rig) dropFrom(match func(args []string) bool) (heal func()) {
	var mu sync.Mutex
	stopped := false
	var heals [2]func()
	for i, p := range r.proxies {
		heals[i] = p.Inject(proxytest.Fault{Match: func(args []string) bool {
			mu.Lock()
			defer mu.Unlock()
			stopped = stopped || match(args)
			return stopped
		}, Times: -1, Action: proxytest.DropRequest})
	}
	return func() { heals[0](); heals[1]() }
}

// stopAt lets a process sweep, whose steps of this name, and all after them, are never executed.
func (r *rig) stopAt(step string, p process) {
	heal := r.dropFrom(isStep(step))
	defer heal()
	cfg := r.old(16)
	cfg.MaxOutage = -1 // the process ends
	_, _ = operate.Sweep(r.t.Context(), p.Store, cfg)
	_ = p.Close()
}

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
		if n.control != nil && name == "evalsha" && args[1] == redis.NewScript(markerScript).Hash() {
			args[0], args[1] = "eval", n.control(markerScript)
		}
		if n.direct {
			args[0] = contract.Mark(name)
		}
	}
}

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
