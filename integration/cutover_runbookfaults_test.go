package integration

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// link is an address that stays the same while the server behind it changes. It passes bytes on.
type link struct {
	listener net.Listener
	target   func() string
	sent     func() // a client has sent bytes, which are not passed on yet
	all      sync.WaitGroup
	ctx      context.Context
}

func newLink(t *testing.T, target func() string, sent func()) *link {
	t.Helper()
	l := &link{target: target, sent: sent}
	var end context.CancelFunc
	l.ctx, end = context.WithCancel(context.Background())
	var err error
	l.listener, err = (&net.ListenConfig{}).Listen(l.ctx, "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l.all.Go(l.accept)
	t.Cleanup(func() {
		end()
		assert.NoError(t, l.listener.Close())
		l.all.Wait()
	})
	return l
}

func (l *link) addr() string { return l.listener.Addr().String() }

func (l *link) accept() {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return
		}
		l.all.Go(func() { l.serve(client) })
	}
}

func (l *link) serve(client net.Conn) {
	server, err := (&net.Dialer{}).DialContext(l.ctx, "tcp", l.target())
	if err != nil {
		_ = client.Close()
		return
	}
	end := func() {
		_ = client.Close()
		_ = server.Close()
	}
	defer context.AfterFunc(l.ctx, end)()
	l.all.Go(func() {
		_, _ = io.Copy(client, server)
		end()
	})
	defer end()
	for buf := make([]byte, 64<<10); ; {
		n, err := client.Read(buf)
		if n > 0 {
			l.sent()
			_, err = server.Write(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

// newStore is a new store behind a proxy that can be restarted.
type newStore struct {
	profile  string
	addr     string
	backends []string
	kill     func()
	restart  func()
}

func behindNutcracker(t *testing.T) *newStore {
	backends := []string{servers.Redis(t).Addr, servers.Redis(t).Addr}
	proxy := servers.Nutcracker(t, backends, 2)
	return &newStore{
		profile: proxycompat.Twemproxy05().Name(), addr: proxy.Addr, backends: backends,
		kill:    func() { assert.NoError(t, proxy.Kill()) },
		restart: func() { assert.NoError(t, proxy.Restart(t.Context())) },
	}
}

func behindCodis(t *testing.T) *newStore {
	n := &newStore{profile: proxycompat.Codis32().Name(), backends: []string{servers.Redis(t).Addr, servers.Redis(t).Addr}}
	var now atomic.Pointer[proxytest.Proxy]
	n.restart = func() {
		p, err := proxytest.Start(proxytest.Config{Profile: proxycompat.Codis32(), Backends: n.backends, Parallel: 4})
		if assert.NoError(t, err) {
			now.Store(p)
		}
	}
	n.kill = func() { assert.NoError(t, now.Load().Close()) }
	n.restart()
	t.Cleanup(n.kill)
	n.addr = newLink(t, func() string { return now.Load().Addr() }, func() {}).addr()
	return n
}

// runbookFault is a fault at each step.
type runbookFault struct {
	name string
	// begin strikes while the command of a step runs, or before it starts: command is nil then. mend ends the fault.
	begin, mend func(p *runbookPlay, command *os.Process)
}

func runbookFaults() []runbookFault {
	nothing := func(*runbookPlay, *os.Process) {}
	return []runbookFault{
		{"none", nothing, nothing},
		{"proxy restarts",
			func(p *runbookPlay, _ *os.Process) { p.new.kill() },
			func(p *runbookPlay, _ *os.Process) { p.new.restart() }},
		{"old Redis is killed, and loads its AOF",
			func(p *runbookPlay, _ *os.Process) { assert.NoError(p.t, p.old.Kill()) },
			func(p *runbookPlay, _ *os.Process) { assert.NoError(p.t, p.old.Restart(p.t.Context())) }},
		{"command is killed",
			func(_ *runbookPlay, command *os.Process) {
				if command != nil {
					_ = command.Kill() // it may have ended
				}
			}, nothing},
		{"process of the service is killed", nothing,
			func(p *runbookPlay, _ *os.Process) {
				process := p.rng.IntN(2)
				pid := p.service.kill(process)
				p.service.start(process)
				// This stands for the two minutes after which the heartbeat is gone.
				old := client(p.t, p.old.Addr)
				names, err := old.HKeys(p.t.Context(), "~cutover:{desk}:census").Result()
				assert.NoError(p.t, err)
				for _, name := range names {
					if strings.Contains(name, fmt.Sprintf(":%d:", pid)) {
						assert.NoError(p.t, old.HDel(p.t.Context(), "~cutover:{desk}:census", name).Err())
					}
				}
			}},
		{"stage document is lost",
			func(p *runbookPlay, _ *os.Process) {
				side := p.rng.IntN(2)
				assert.NoError(p.t, p.clients[side].Del(p.t.Context(), "~cutover:{desk}").Err())
			}, nothing},
	}
}

// freeze, and the processes, do not need an old Redis that is loading its AOF. Afterwards the same command writes the
// same stage into it.
func TestLongFreezeWhileLoading(t *testing.T) {
	t.Parallel()
	long.Only(t)
	program := migrateCheck(t)
	old := servers.Redis(t, "--appendonly", "yes", "--key-load-delay", "500")
	order := serviceOrder{Addrs: [2]string{old.Addr, servers.Redis(t).Addr}, Profile: "redis"}
	sides, stores, closeAll := order.openSides()
	t.Cleanup(func() { assert.NoError(t, closeAll()) })
	for i := range stores {
		require.NoError(t, sides[i].Redis.(*redis.Client).Set(t.Context(), "~cutover:{desk}",
			`{"version":1,"epoch":4,"stage":"copying","percent":5}`, 0).Err())
	}
	rdb := client(t, old.Addr)
	pipe := rdb.Pipeline()
	for i := range 30_000 { // 18 s, with an answer every second
		pipe.Set(t.Context(), fmt.Sprint("room:idle:", i), "v", 0)
	}
	_, err := pipe.Exec(t.Context())
	require.NoError(t, err)
	require.NoError(t, old.Kill())
	loaded := make(chan error, 1)
	go func() { loaded <- old.Restart(t.Context()) }()
	require.Eventually(t, func() bool {
		err := rdb.Ping(t.Context()).Err()
		return err != nil && strings.HasPrefix(err.Error(), "LOADING")
	}, time.Minute, 10*time.Millisecond)
	poller := cutover.FromKey("desk", stores[0], stores[1])
	t.Cleanup(func() { assert.NoError(t, poller.Close()) })
	freeze := func() string {
		out, _ := exec.CommandContext(t.Context(), program, "cutover", "freeze", "-name", "desk",
			"-old", old.Addr, "-new", order.Addrs[1]).CombinedOutput()
		return strings.Join(strings.Fields(string(out)), " ")
	}
	text := freeze()
	require.Empty(t, loaded, "the server is still loading")
	assert.Contains(t, text, "stage copying 5 %, frozen is published with epoch 104 in the new store, and in force")
	frozen := func() bool {
		stage, err := poller.Stage(t.Context())
		return err == nil && stage.Freeze && stage.Epoch == 104
	}
	require.Eventually(t, frozen, time.Minute, 10*time.Millisecond)
	require.NoError(t, <-loaded)
	assert.Contains(t, freeze(), "done: write stage copying 5 %, frozen with epoch 104 into the old store")
	require.Eventually(t, func() bool { return poller.Err() == nil }, time.Minute, 10*time.Millisecond)
	assert.True(t, frozen())
}
