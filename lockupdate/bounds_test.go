package lockupdate_test

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/contract"
	locking "github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// publicCalls are the calls of a Store that wait for the store or for a lock before any fn runs.
var publicCalls = map[string]func(ctx context.Context, s *lockupdate.Store) error{
	"update": func(ctx context.Context, s *lockupdate.Store) error {
		_, err := s.Update(ctx, testKey, appendText("x"))
		return err
	},
	"read":      func(ctx context.Context, s *lockupdate.Store) error { _, err := s.Read(ctx, testKey); return err },
	"peek":      func(ctx context.Context, s *lockupdate.Store) error { _, _, err := s.Peek(ctx, testKey); return err },
	"lock":      func(ctx context.Context, s *lockupdate.Store) error { _, err := s.Lock(ctx, "s"); return err },
	"with lock": func(ctx context.Context, s *lockupdate.Store) error { return s.WithLock(ctx, "s", nothing) },
	"with locks": func(ctx context.Context, s *lockupdate.Store) error {
		return s.WithLocks(ctx, []string{"s", "t"}, nothing)
	},
	"try lock": func(ctx context.Context, s *lockupdate.Store) error { return s.TryLock(ctx, "s", nothing) },
	"inspect":  func(ctx context.Context, s *lockupdate.Store) error { _, err := s.Inspect(ctx, "s"); return err },
	"check": func(ctx context.Context, s *lockupdate.Store) error {
		return s.Check(ctx, locking.Sequencer{Name: "s", Owner: "o"})
	},
}

// outages cut a Store off, until heal.
var outages = map[string]func(f *fixture, n *contract.Network, dial *redis.DialHook) (heal func()){
	"refused":    func(_ *fixture, n *contract.Network, _ *redis.DialHook) func() { return n.Cut() },
	"black hole": func(_ *fixture, n *contract.Network, _ *redis.DialHook) func() { return n.Hole() },
	"hung reply": func(f *fixture, _ *contract.Network, _ *redis.DialHook) func() {
		return f.proxy.Inject(proxytest.Fault{Times: -1, Action: proxytest.HangReply})
	},
	"silent peer of TLS": func(_ *fixture, n *contract.Network, dial *redis.DialHook) func() { // its handshake ignores ctx
		n.Break()
		hung := make(chan struct{})
		*dial = proxycompat.HelloDialer(func(context.Context, string, string) (net.Conn, error) { <-hung; return nil, net.ErrClosed })
		return func() { close(hung) }
	},
}

// bound ends the wait of a call 100 ms or 1 s after it began, at the latest.
type bound struct {
	cfg  lockupdate.Config
	ctx  func(ctx context.Context, s *lockupdate.Store) (context.Context, context.CancelFunc)
	took time.Duration
	want error
}

func endless(ctx context.Context, _ *lockupdate.Store) (context.Context, context.CancelFunc) {
	return context.WithCancel(ctx)
}

var bounds = map[string]bound{
	"MaxWait": {
		cfg: lockupdate.Config{MaxWait: 100 * time.Millisecond}, ctx: endless, took: 100 * time.Millisecond, want: rmw.ErrUnavailable,
	},
	"deadline": {
		ctx: func(ctx context.Context, _ *lockupdate.Store) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 100*time.Millisecond)
		}, took: 100 * time.Millisecond, want: context.DeadlineExceeded,
	},
	"cancel": {
		ctx: func(ctx context.Context, _ *lockupdate.Store) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(100*time.Millisecond, cancel)
			return ctx, cancel
		}, took: 100 * time.Millisecond, want: context.Canceled,
	},
}

// Each call × each bound × each outage: the call ends in time, with the reason that no server has answered: never
// rmw.ErrContended, and rmw.ErrOutcomeUnknown only after a commit was sent.
func TestEveryWaitIsBounded(t *testing.T) {
	for call, do := range publicCalls {
		for limit, b := range bounds {
			for outage, cut := range outages {
				for _, onDemand := range []bool{false, true} {
					if onDemand && call != "update" {
						continue
					}
					name := call + "/" + limit + "/" + outage
					if onDemand {
						name += "/on demand"
					}
					bubbleWith(t, name, lockupdate.Config{}, func(t *testing.T, f *fixture) {
						network, opts := &contract.Network{}, f.proxy.Options()
						dial := redis.DialHook(network.Dialer(opts.Dialer))
						opts.Dialer = func(ctx context.Context, n, addr string) (net.Conn, error) { return dial(ctx, n, addr) }
						opts.DialerRetries = 1
						cfg := b.cfg
						cfg.LockOnDemand = onDemand
						rdb := redis.NewClient(opts)
						s := lockupdate.New(rdb, cfg)
						require.NoError(t, operations["update"](t.Context(), s))
						lockupdate.Settle(s)
						heal := cut(f, network, &dial)
						ctx, cancel := b.ctx(t.Context(), s)
						defer cancel()
						began := time.Now()
						err := do(ctx, s)
						assert.LessOrEqual(t, time.Since(began), b.took+10*time.Millisecond)
						require.Error(t, err)
						require.NotErrorIs(t, err, rmw.ErrContended)
						require.NotErrorIs(t, err, rmw.ErrOutcomeUnknown)
						if call != "try lock" { // it fails at the first refused dial
							require.ErrorIs(t, err, b.want)
						}
						_ = s.Close() // it tells of the lock
						heal()
						_ = rdb.Close()
						time.Sleep(time.Minute) // go-redis ends its work
						synctest.Wait()
					})
				}
			}
		}
	}
}
