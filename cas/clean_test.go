package cas_test

import (
	"context"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// probe is a key that no Store watches.
const probe = "probe"

// assertClean requires the client's pooled connections to watch nothing: after the
// key was changed, a transaction goes through on each of them.
func (f *fixture) assertClean() {
	f.t.Helper()
	for conn, err := range f.transactionsAfterAChange() {
		if err != nil {
			f.t.Errorf("pooled connection %d still watches the key: %v", conn, err)
		}
	}
}

// transactionsAfterAChange runs one on every pooled connection. It goes command by
// command: go-redis has other connections for pipelines.
func (f *fixture) transactionsAfterAChange() []error {
	ctx := context.Background()
	f.set("changed afterwards")
	var conns []*redis.Conn
	for range poolSize { // each takes one more, the idle ones first
		conn := f.rdb.Conn()
		defer conn.Close()
		require.NoError(f.t, conn.Do(ctx, "multi").Err())
		conns = append(conns, conn)
	}
	errs := make([]error, poolSize)
	for i, conn := range conns {
		require.NoError(f.t, conn.Do(ctx, "set", probe, i).Err())
		errs[i] = conn.Do(ctx, "exec").Err()
	}
	return errs
}

// everyWatchWasProbed tells whether each connection that watched was among those
// that assertClean used.
func (f *fixture) everyWatchWasProbed() bool {
	left := map[int]bool{}
	watches := 0
	for _, c := range f.proxy.Calls() {
		switch {
		case c.Command() == "WATCH":
			watches++
			left[c.Conn] = true
		case c.Command() == "SET" && c.Args[1] == probe:
			delete(left, c.Conn)
		}
	}
	return watches > 0 && len(left) == 0
}

// noEndedCtx is a hook as services have for tracing and limits: it sends nothing once the ctx has ended.
var noEndedCtx = hook(func(ctx context.Context, _ redis.Cmder) error { return ctx.Err() })

// All the ways in which an Update ends without a fault. Neither a hook nor an ended ctx keeps it from
// unwatching.
func TestUnwatchedAfterUpdate(t *testing.T) {
	for ending, fn := range map[string]rmw.UpdateFunc{
		"success":           appendText("x"),
		"delete":            set(rmw.Value{}),
		"unchanged":         keep,
		"abort":             abort,
		"wrong kind back":   set(rmw.Hash(map[string]string{"f": "1"})),
		"wrong kind stored": keep,
		"conflicts":         appendText("x"),
		"ctx ends in fn":    appendText("x"),
		"panic":             func(context.Context, rmw.Value) (rmw.Value, error) { panic("boom") },
		"goexit":            func(context.Context, rmw.Value) (rmw.Value, error) { runtime.Goexit(); panic("not reached") },
	} {
		for hooks, hook := range map[string]redis.Hook{"": nil, ", a hook that minds the ctx": noEndedCtx} {
			t.Run(ending+hooks, withFixture(cas.Config{MaxAttempts: 2}, func(t *testing.T, f *fixture) {
				if hook != nil {
					f.rdb.AddHook(hook)
				}
				f.set("x")
				f.warm()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				key, fn := key, fn
				switch ending {
				case "wrong kind stored":
					key.Kind = rmw.KindHash
				case "conflicts":
					fn = f.behindItsBack(fn)
				case "ctx ends in fn":
					write := fn
					fn = func(ctx context.Context, cur rmw.Value) (rmw.Value, error) { cancel(); return write(ctx, cur) }
				}
				done := make(chan struct{})
				go func() { // that Goexit ends
					defer close(done)
					defer func() { _ = recover() }()
					_, _ = f.store.Update(ctx, key, fn)
				}()
				<-done
				require.NoError(t, f.store.Close())
				f.assertClean()
				require.True(t, f.everyWatchWasProbed(), "else it was not shown: %v", f.proxy.Calls())
			}))
		}
	}
}

// isOfTheStore tells its commands from go-redis' handshake and from the test's own.
func isOfTheStore(args []string) bool {
	switch strings.ToUpper(args[0]) {
	case "WATCH", "GET", "MULTI", "EXEC", "UNWATCH":
		return true
	}
	return strings.EqualFold(args[0], "set") && args[1] == key.Name
}

// At every command of an update that writes, and of one that does not: the ctx
// ends, with or without the answer coming late, or the request or the reply is
// lost.
func TestUnwatchedAfterFaults(t *testing.T) {
	actions := map[string]proxytest.Fault{
		"ctx ends":                  {Action: proxytest.Delay},
		"ctx ends, late answer":     {Action: proxytest.Delay, Delay: time.Second},
		"request lost":              {Action: proxytest.DropRequest},
		"reply lost":                {Action: proxytest.DropReply},
		"reply lost in the middle":  {Action: proxytest.DropReply, Keep: 2},
		"no answer":                 {Action: proxytest.HangReply},
		"no answer, and ctx ends":   {Action: proxytest.HangReply},
		"not run, no answer at all": {Action: proxytest.HangRequest},
		"busy":                      {Action: proxytest.Delay, Delay: 20 * time.Second}, // past the read timeout
	}
	updates := map[string]struct {
		fn       rmw.UpdateFunc
		commands int
	}{
		"written": {appendText("x"), 5},
		"aborted": {abort, 3},
	}
	for update, u := range updates {
		for action, fault := range actions {
			for n := range u.commands {
				t.Run(update+"/"+action+"/"+string(rune('1'+n)), withFixture(cas.Config{}, func(t *testing.T, f *fixture) {
					f.set("")
					f.warm()
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					var struck atomic.Bool
					fault.Match, fault.Skip = isOfTheStore, n
					fault.Do = func() {
						struck.Store(true)
						if strings.Contains(action, "ctx ends") {
							cancel()
						}
					}
					f.proxy.Inject(fault)
					_, _ = f.store.Update(ctx, key, u.fn)
					require.NoError(t, f.store.Close())
					require.True(t, struck.Load())
					f.assertClean()
				}))
			}
		}
	}
}

// Negative controls: the check above finds a WATCH that is left behind.
func TestCheckFindsLeftoverWatch(t *testing.T) {
	for name, leave := range map[string]func(t *testing.T, rdb *redis.Client){
		"Client.Watch, a hook and an ended ctx": func(t *testing.T, rdb *redis.Client) {
			rdb.AddHook(noEndedCtx)
			ctx, cancel := context.WithCancel(t.Context())
			err := rdb.Watch(ctx, func(*redis.Tx) error { cancel(); return nil }, key.Name)
			require.NoError(t, err)
		},
		"WATCH by hand": func(t *testing.T, rdb *redis.Client) {
			require.NoError(t, rdb.Do(t.Context(), "watch", key.Name).Err())
		},
	} {
		t.Run(name, withFixture(cas.Config{}, func(t *testing.T, f *fixture) {
			f.warm()
			leave(t, f.rdb)
			errs := f.transactionsAfterAChange()
			require.True(t, f.everyWatchWasProbed())
			require.Contains(t, errs, error(redis.Nil), "EXEC answers nil on the connection that still watches")
		}))
	}
}
