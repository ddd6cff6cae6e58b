package redlock_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/contract"
	"github.com/unwatch/unwatch/lockupdate/redlock"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// fixture is a number of independent masters in this process. It must be made
// inside the synctest bubble, if there is one.
type fixture struct {
	t     *testing.T
	nodes []*proxytest.Proxy
}

func newFixture(t *testing.T, nodes int) *fixture {
	t.Helper()
	f := &fixture{t: t}
	for range nodes {
		p, err := proxytest.Start(proxytest.Config{Profile: proxycompat.Redis(), InMemory: true})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, p.Close()) })
		f.nodes = append(f.nodes, p)
	}
	return f
}

// bubble runs a subtest in a synctest bubble.
func bubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// three returns three masters, and a process that has used them.
func three(t *testing.T) (*fixture, *process) {
	t.Helper()
	f := newFixture(t, 3)
	p := f.open(redlock.Config{})
	f.warm(p)
	return f, p
}

// withThree runs a test in a synctest bubble, with three masters and a process.
func withThree(t *testing.T, test func(t *testing.T, f *fixture, p *process)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f, p := three(t)
		test(t, f, p)
	})
}

// process is one more process: a Locker with connections of its own.
type process struct {
	*redlock.Locker
	contract.Clock
	rdbs     []redlock.Node
	networks []*contract.Network
}

func (f *fixture) open(cfg redlock.Config) *process {
	p := &process{}
	for _, n := range f.nodes {
		network, opts := &contract.Network{}, n.Options()
		opts.Dialer = network.Dialer(opts.Dialer)
		opts.ReadTimeout = 2 * time.Second
		opts.DialerRetries = 1 // or go-redis still waits for the next when the bubble ends
		opts.PoolSize = 1000   // or it waits for a connection with a timer that it shares between bubbles
		rdb := redis.NewClient(opts)
		f.t.Cleanup(func() { require.NoError(f.t, rdb.Close()) })
		p.rdbs, p.networks = append(p.rdbs, rdb), append(p.networks, network)
	}
	return f.start(p, cfg)
}

// start makes the Locker of a process.
func (f *fixture) start(p *process, cfg redlock.Config) *process {
	p.Locker = redlock.New(p.rdbs, cfg)
	redlock.SetClock(p.Locker, p.Now)
	f.t.Cleanup(func() { require.NoError(f.t, p.Close()) }) // before the clients
	return p
}

// each disturbs the networks to some nodes, by a method of contract.Network.
func (p *process) each(disturb func(*contract.Network) (restore func()), nodes ...int) (restore func()) {
	var restores []func()
	for _, i := range nodes {
		restores = append(restores, disturb(p.networks[i]))
	}
	return func() {
		for _, restore := range restores {
			restore()
		}
	}
}

// cut breaks the networks to some nodes.
func (p *process) cut(nodes ...int) (restore func()) {
	return p.each((*contract.Network).Cut, nodes...)
}

// warm opens the connections and fills the script caches. Only in a bubble.
func (f *fixture) warm(p *process) {
	require.NoError(f.t, p.WithLock(f.t.Context(), "warm", nothing))
	synctest.Wait()
	for _, n := range f.nodes {
		n.ResetCalls()
	}
}

// eachOutage runs a test for each way in which nodes do not serve a process, with three masters.
func eachOutage(t *testing.T, test func(t *testing.T, f *fixture, p *process, down func(command string, nodes ...int))) {
	for name, fault := range map[string]proxytest.Fault{
		"refused": {}, "broken": {}, "hangs": {Action: proxytest.HangRequest}, "errors": {Action: proxytest.RefuseWith, Text: "LOADING"},
	} {
		bubble(t, name, func(t *testing.T) {
			f, p := three(t)
			test(t, f, p, func(command string, nodes ...int) {
				for _, i := range nodes {
					switch name {
					case "refused":
						p.cut(i)
					case "broken":
						f.nodes[i].Down(0)
					default:
						f.on(i, command, fault)
					}
				}
			})
		})
	}
}

func nothing(context.Context) error { return nil }

// holders returns who has the lock, by node.
func (f *fixture) holders(name string) []string {
	var owners []string
	for _, n := range f.nodes {
		owner, _ := n.Engine(0).Get(name)
		owners = append(owners, owner)
	}
	return owners
}

// nobody is what holders returns for a lock that is free everywhere.
func (f *fixture) nobody() []string { return make([]string, len(f.nodes)) }

// takeAway frees the lock on some nodes behind its holder's back.
func (f *fixture) takeAway(name string, nodes ...int) {
	for _, i := range nodes {
		f.nodes[i].Engine(0).Del(name)
	}
}

// on injects a fault into the commands of one name.
func (f *fixture) on(node int, command string, fault proxytest.Fault) (remove func()) {
	fault.Match = func(args []string) bool { return strings.EqualFold(args[0], command) }
	if fault.Times == 0 {
		fault.Times = -1
	}
	return f.nodes[node].Inject(fault)
}

// onAll injects a fault into the commands of one name on every node.
func (f *fixture) onAll(command string, fault proxytest.Fault) {
	for i := range f.nodes {
		f.on(i, command, fault)
	}
}

// count returns how often a command was sent to a node.
func (f *fixture) count(node int, command string) int {
	n := 0
	for _, c := range f.nodes[node].Calls() {
		if strings.EqualFold(c.Args[0], command) {
			n++
		}
	}
	return n
}
