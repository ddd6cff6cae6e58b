package cutover_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/cutover/operate"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// cable is a hook that refuses every command while it is cut.
type cable struct{ cut *atomic.Bool }

// errRefused is as of the system: go-redis unwraps the error of a handshake.
var errRefused = &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}

func (c cable) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c cable) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if c.cut.Load() {
			cmd.SetErr(errRefused)
			return errRefused
		}
		return next(ctx, cmd)
	}
}

func (c cable) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if c.cut.Load() {
			for _, cmd := range cmds {
				cmd.SetErr(errRefused)
			}
			return errRefused
		}
		return next(ctx, cmds)
	}
}

// away lets a side be away for that long, beginning with its n-th command, in the way of the kind.
func (r *rig) away(side, n int, kind string, length time.Duration, p process, scanner *redis.Client) (heal func()) {
	fault := proxytest.Fault{Times: -1, Action: proxytest.RefuseWith, Text: kind}
	switch kind {
	case "reset":
		fault.Action = proxytest.DropRequest
	case "reply lost":
		fault.Action = proxytest.DropReply
	}
	var began atomic.Int64
	cut := new(atomic.Bool)
	var seen atomic.Int64
	fault.Match = func(args []string) bool {
		switch args[0] {
		case "hello", "client", "HELLO", "CLIENT":
			return false
		}
		if seen.Add(1) == int64(n) {
			began.Store(time.Now().UnixNano())
			if kind == "refused" {
				cut.Store(true)
				time.AfterFunc(length, func() { cut.Store(false) })
			}
		}
		now := time.Now().UnixNano()
		return kind != "refused" && began.Load() > 0 && now-began.Load() < length.Nanoseconds()
	}
	heal = r.proxies[side].Inject(fault)
	p.clients[side].AddHook(cable{cut})
	if side == 0 {
		scanner.AddHook(cable{cut})
	}
	return heal
}

// A store is away for two seconds in the middle of a pass: the pass waits for it, and goes on where it was. No key
// fails, none is counted twice, and a sweep that moves nothing still says so.
func TestPassesOutliveAnOutage(t *testing.T) {
	const keys = 60
	kinds := []string{
		"reset", "reply lost", "refused", "LOADING Redis is loading the dataset in memory", "ERR handle response, backend conn reset",
		"ERR Connection refused", "ERR router is not online", "ERR max number of clients reached", "CLUSTERDOWN The cluster is down",
	}
	for _, kind := range kinds {
		for side := range 2 {
			for _, n := range []int{3, 50} {
				t.Run(fmt.Sprint(kind, side, n), func(t *testing.T) {
					bubble(t, func(t *testing.T, r *rig) {
						r.fill(keys)
						pass := func(stage cutover.Stage, visit func(process, operate.SweepConfig)) {
							p := r.open(stage)
							scanner := redis.NewClient(r.proxies[0].Options())
							defer scanner.Close()
							defer r.away(side, n, kind, 2*time.Second, p, scanner)()
							visit(p, operate.SweepConfig{Masters: []operate.Scanner{scanner}, Batch: 8})
							require.NoError(t, p.Close())
						}
						pass(forward, func(p process, cfg operate.SweepConfig) {
							pass := p.sweep(cfg)
							if !strings.HasPrefix(kind, "LOADING") { // a step itself waits 3 s then
								assert.Equal(t, 1, pass.Outages)
								assert.InDelta(t, 2*time.Second, pass.Outage, float64(500*time.Millisecond))
							}
							assert.Zero(t, pass.Failed.Count)
							assert.GreaterOrEqual(t, pass.Moved+pass.Completed, keys-1)
						})
						pass(forward, func(p process, cfg operate.SweepConfig) {
							again := p.sweep(cfg)
							assert.Zero(t, again.Moved+again.Failed.Count+again.Gone, "%+v", again)
							assert.Equal(t, again.Chosen, again.There+again.Completed)
						})
						pass(follow, func(p process, cfg operate.SweepConfig) {
							report := p.verify(cfg)
							assert.Zero(t, report.Wrong())
							assert.Equal(t, report.Chosen, report.Equal, "%+v", report)
						})
						r.requireFilled(keys)
					})
				})
			}
		}
	}
}

// A store that stays away ends the pass after MaxOutage, and so does the ctx. A reply that no retry changes ends it at
// once.
func TestAnOutageHasALimit(t *testing.T) {
	for _, tc := range []struct {
		limit, timeout, want time.Duration
		text                 string
	}{
		{0, time.Hour, 30 * time.Second, "ERR Connection refused"},
		{5 * time.Second, time.Hour, 5 * time.Second, "ERR Connection refused"},
		{-1, time.Hour, 0, "ERR Connection refused"},
		{time.Minute, 2 * time.Second, 2 * time.Second, "ERR Connection refused"},
		{0, time.Hour, 0, "OOM command not allowed when used memory > 'maxmemory'."},
		{0, time.Hour, 0, "ERR refused"},
	} {
		bubble(t, func(t *testing.T, r *rig) {
			r.fill(30)
			r.proxies[1].Inject(proxytest.Fault{Times: -1, Action: proxytest.RefuseWith, Text: tc.text, Match: isStep("reserve")})
			r.proxies[1].Inject(proxytest.Fault{Times: -1, Action: proxytest.RefuseWith, Text: tc.text, Match: isStep("look")})
			p := r.open(forward)
			cfg := r.old(8)
			cfg.MaxOutage = tc.limit
			for _, walk := range []func(context.Context) (failed int, err error){
				func(ctx context.Context) (int, error) {
					pass, err := operate.Sweep(ctx, p.Store, cfg)
					return pass.Failed.Count, err
				},
				func(ctx context.Context) (int, error) {
					report, err := operate.Verify(ctx, p.Store, cfg)
					return report.Failed.Count, err
				},
			} {
				ctx, cancel := context.WithTimeout(t.Context(), tc.timeout)
				began := time.Now()
				failed, err := walk(ctx)
				cancel()
				assert.InDelta(t, tc.want, time.Since(began), float64(time.Second), tc)
				if tc.timeout < tc.want+1 {
					require.ErrorIs(t, err, context.DeadlineExceeded)
				} else {
					require.ErrorIs(t, err, rmw.ErrUnavailable)
					assert.Equal(t, 8, failed)
				}
			}
		})
	}
}

// One of two new servers stays away: the pass waits for it once, and not for each batch.
func TestAPassWaitsOnceForALostServer(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.fill(200)
		r.proxies[1].Down(0)
		p := r.open(forward)
		began := time.Now()
		pass, err := operate.Sweep(t.Context(), p.Store, r.old(100))
		require.NoError(t, err)
		assert.Less(t, time.Since(began), 40*time.Second)
		assert.Equal(t, 1, pass.Outages)
		assert.Equal(t, 200, pass.Moved+pass.Failed.Count)
		assert.Greater(t, min(pass.Moved, pass.Failed.Count), 30)
	})
}

// restarting is a server whose SCAN cursors mean nothing after its restart, as with a new hash seed: then they skip names.
type restarting struct {
	*redis.Client
	tells   bool
	at      int
	calls   int
	started bool
	names   []string
}

func (m *restarting) InfoMap(ctx context.Context, _ ...string) *redis.InfoCmd {
	cmd := redis.NewInfoCmd(ctx)
	if m.tells {
		cmd.SetVal(map[string]map[string]string{"Server": {"run_id": fmt.Sprint(m.started)}})
	} else {
		cmd.SetErr(errRefused)
	}
	return cmd
}

func (m *restarting) Scan(ctx context.Context, cursor uint64, _ string, _ int64) *redis.ScanCmd {
	cmd := redis.NewScanCmd(ctx, nil)
	if m.calls++; m.calls == m.at {
		m.started = true
		if !m.tells {
			cmd.SetErr(errRefused)
			return cmd
		}
	}
	switch {
	case m.started && cursor > 0:
		cmd.SetVal(nil, 0)
	case int(cursor)+8 >= len(m.names):
		cmd.SetVal(m.names[cursor:], 0)
	default:
		cmd.SetVal(m.names[cursor:cursor+8], cursor+8)
	}
	if m.started && cursor == 0 {
		cmd.SetVal(m.names, 0)
	}
	return cmd
}

// The old server restarts in the middle of a SCAN. Its cursors have no meaning then, so the pass scans it again, and misses
// no key.
func TestAPassScansARestartedServerAgain(t *testing.T) {
	for _, tells := range []bool{true, false} {
		bubble(t, func(t *testing.T, r *rig) {
			r.fill(40)
			m := &restarting{tells: tells, at: 3}
			for i := range 40 {
				m.names = append(m.names, fmt.Sprint("k", i))
			}
			pass := r.open(forward).sweep(operate.SweepConfig{Masters: []operate.Scanner{m}, Batch: 4})
			assert.Equal(t, 40, pass.Moved, "run_id told: %v", tells)
			assert.Equal(t, 1, pass.Masters)
		})
	}
}

// The new store refuses the fills for two seconds while it is LOADING. The keys arrive with the time that they have
// left then.
func TestARepeatedFillKeepsTheExpiry(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		require.NoError(t, r.admin(0).Set(t.Context(), "room", "x", time.Minute).Err())
		began := time.Now()
		loading := func(args []string) bool { return isStep("fill")(args) && time.Since(began) < 2*time.Second }
		r.proxies[1].Inject(proxytest.Fault{Times: -1, Action: proxytest.RefuseWith, Text: "LOADING", Match: loading})
		p := r.open(forward)
		require.Equal(t, 1, p.sweep(r.old(1)).Moved)
		_, left := p.peek(room)
		assert.InDelta(t, time.Minute-time.Since(began), left, float64(100*time.Millisecond))
	})
}
