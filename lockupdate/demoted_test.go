package lockupdate_test

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// replies of a server that cannot serve: Redis 7, a script of ours on Redis before 7, and others.
var unableToServe = map[string]string{
	"READONLY":             "READONLY You can't write against a read only replica.",
	"READONLY before 7":    "@user_script: 93: -READONLY You can't write against a read only slave.  ",
	"READONLY, not caught": "ERR Error running script (call to f_1): @user_script:9: @user_script: 9: -READONLY You can't write against a read only slave.  ",
	"LOADING":              "LOADING Redis is loading the dataset in memory",
	"MASTERDOWN":           "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
}

// demoted returns a Store whose open connections lead to a server that cannot serve any more, and its new connections to
// another one.
func (f *fixture) demoted(cfg lockupdate.Config, text string, commands ...string) (s *lockupdate.Store, is *fixture) {
	var over atomic.Bool
	is = newFixture(f.t, cfg)
	opts, before, after := f.proxy.Options(), f.proxy.Options().Dialer, is.proxy.Options().Dialer
	opts.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if over.Load() {
			return after(ctx, network, addr)
		}
		return before(ctx, network, addr)
	}
	s = f.open(opts, cfg)
	for range 4 { // nested, so that each has connections of its own
		f.nest(s, 4)
	}
	lockupdate.Settle(s)
	over.Store(true)
	for _, name := range commands {
		f.refuse(name, -1, text)
	}
	return s, is
}

func (f *fixture) nest(s *lockupdate.Store, depth int) {
	key := rmw.Key{Name: "n" + string(rune('0'+depth))}
	_, err := s.Update(f.t.Context(), key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		if depth > 1 {
			f.nest(s, depth-1)
		}
		return rmw.String(cur.Text() + "a"), nil
	})
	require.NoError(f.t, err)
}

var writeRequests = []string{"acquire", "renew", "release", "commit_string", "commit_hash", "token"}

func TestUpdatesLeaveADemotedPrimary(t *testing.T) {
	for name, text := range unableToServe {
		for way, cfg := range map[string]lockupdate.Config{"lock": {}, "on demand": {LockOnDemand: true}} {
			refused := writeRequests
			if name == "LOADING" || name == "MASTERDOWN" {
				refused = append([]string{"read", "EXISTS"}, writeRequests...)
			}
			bubbleWith(t, name+","+way, cfg, func(t *testing.T, f *fixture) {
				s, is := f.demoted(cfg, text, refused...)
				for range 60 {
					_, err := s.Update(t.Context(), testKey, appendText("x"))
					require.NoError(t, err)
				}
				assert.Len(t, is.text(testKey), 60, "each is stored once, on the new primary")
				lockupdate.Settle(s)
			})
		}
	}
}

// Control: with a negative MaxOutage, the first call fails; but a later one has another connection.
func TestDemotedPrimaryWithoutMaxOutage(t *testing.T) {
	cfg := lockupdate.Config{MaxOutage: -1}
	withFixture(t, cfg, func(t *testing.T, f *fixture) {
		s, is := f.demoted(cfg, unableToServe["LOADING"], append([]string{"read"}, writeRequests...)...)
		failures := 0
		for range 60 {
			if _, err := s.Update(t.Context(), testKey, appendText("x")); err != nil {
				require.ErrorIs(t, err, rmw.ErrUnavailable)
				failures++
			}
		}
		assert.Positive(t, failures)
		assert.Less(t, failures, 30)
		assert.Len(t, is.text(testKey), 60-failures)
		lockupdate.Settle(s)
	})
}

// A commit needs a new connection, whose handshake fails: the server is full, or a load balancer has no server. The
// commit was not sent. On the tree before this test, the outcome was unknown.
func TestHandshakeOfTheCommitFails(t *testing.T) {
	for name, fails := range map[string]func(server net.Conn){
		"closed":      func(server net.Conn) { _ = server.Close() },
		"after HELLO": func(server net.Conn) { _, _ = server.Read(make([]byte, 512)); _ = server.Close() },
		"server is full": func(server net.Conn) {
			_, _ = server.Read(make([]byte, 512))
			_, _ = io.WriteString(server, "-ERR max number of clients reached\r\n")
			_ = server.Close()
		},
		"no answer": func(server net.Conn) {},
	} {
		for way, cfg := range map[string]lockupdate.Config{
			"lock": {}, "on demand": {LockOnDemand: true}, "at once": {MaxOutage: -1}, "CommitIFEQ": {Commit: lockupdate.CommitIFEQ},
		} {
			bubbleWith(t, name+","+way, cfg, func(t *testing.T, f *fixture) {
				var full atomic.Bool
				opts := f.proxy.Options()
				dial := opts.Dialer
				opts.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
					if !full.Load() {
						return dial(ctx, network, addr)
					}
					client, server := net.Pipe()
					go fails(server)
					return client, nil
				}
				opts.ConnMaxIdleTime = time.Second
				s := f.open(opts, cfg)
				calls := 0
				_, err := s.Update(t.Context(), testKey, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
					if calls++; calls == 1 {
						time.Sleep(2 * opts.ConnMaxIdleTime) // the commit needs a new connection
						synctest.Wait()
						full.Store(true)
						time.AfterFunc(700*time.Millisecond, func() { full.Store(false) })
					}
					return rmw.String(cur.Text() + "x"), nil
				})
				require.NotErrorIs(t, err, rmw.ErrOutcomeUnknown)
				if cfg.MaxOutage < 0 && err != nil { // go-redis may have tried its other pool
					require.ErrorIs(t, err, rmw.ErrUnavailable)
					lockupdate.Settle(s)
					assert.False(t, f.value(testKey).Exists())
					return
				}
				if cfg.Commit == lockupdate.CommitIFEQ && err != nil {
					require.ErrorIs(t, err, rmw.ErrUnavailable, "a plain GET does not tell whether it was sent")
				} else {
					require.NoError(t, err)
					assert.Equal(t, "x", f.text(testKey))
				}
				lockupdate.Settle(s)
			})
		}
	}
}
