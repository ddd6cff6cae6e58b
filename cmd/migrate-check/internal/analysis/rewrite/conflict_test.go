package rewrite_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rewrite/testdata/twins/after"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rewrite/testdata/twins/before"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// contention describes the writes of other clients to a key.
type contention struct {
	name      string
	fn        string
	conflicts int32 // the number of commits of the function that conflict
	locked    bool  // another client holds the key's lock: then there are no conflicts
	endsAfter int32 // the number of the attempt during which the ctx ends; 0: never
	want      string
}

const always = 1 << 30

var contentions = []contention{
	{name: "no conflict", fn: "once", want: "nil, 1 runs"},
	{name: "a conflict without a loop", fn: "once", conflicts: always, want: "TxFailedErr, 1 runs"},
	{name: "one conflict", fn: "limited", conflicts: 1, want: "nil, 2 runs"},
	{name: "the last attempt has no conflict", fn: "limited", conflicts: 23, want: "nil, 24 runs"},
	{name: "every attempt has a conflict", fn: "limited", conflicts: always, want: "ErrConflict, 24 runs"},
	{name: "more conflicts than a Store allows", fn: "unlimited", conflicts: 150, want: "nil, 151 runs"},
	{name: "a deadline among conflicts, in a loop with a limit", fn: "limited", conflicts: always, endsAfter: 3,
		want: "DeadlineExceeded, 3 runs"},
	{name: "a deadline among conflicts, in a loop without", fn: "unlimited", conflicts: always, endsAfter: 3,
		want: "DeadlineExceeded, 3 runs"},
}

// With a Store with locks, callers wait instead of having conflicts.
var waits = []contention{
	{name: "a deadline while the key is locked, in a loop with a limit", fn: "limited", locked: true, endsAfter: 3,
		want: "DeadlineExceeded, 0 runs"},
	{name: "a deadline while the key is locked, in a loop without", fn: "unlimited", locked: true, endsAfter: 3,
		want: "DeadlineExceeded, 0 runs"},
	{name: "a deadline while the key is locked, without a loop", fn: "once", locked: true, endsAfter: 3,
		want: "DeadlineExceeded, 0 runs"},
}

// Callers get the same error after the same number of runs of their function, in each kind of contention.
func TestConflictKeepsErrorAndAttempts(t *testing.T) {
	for _, c := range contentions {
		t.Run("WATCH: "+c.name, func(t *testing.T) {
			require.Equal(t, c.want, c.play(t, serve(t), ofBefore(c.fn), nil))
		})
	}
	for _, store := range []string{"cas", "lockupdate"} {
		all := contentions
		if store == "lockupdate" {
			all = slices.Concat(all, waits)
		}
		for _, c := range all {
			t.Run(store+": "+c.name, func(t *testing.T) {
				s := serve(t)
				require.Equal(t, c.want, c.play(t, s, ofAfter(c.fn), s.stores[store]))
			})
		}
	}
}

// play calls the function, and describes its result.
func (c contention) play(t *testing.T, s *server, f func(before.Input) call, store rmw.Store) (got string) {
	require.NoError(t, s.Set(key, "0"))
	ctx := &counting{}
	var end context.CancelFunc
	ctx.Context, end = context.WithCancel(t.Context())
	defer end()
	s.rdb.AddHook(&rival{func(attempt int32) {
		if attempt <= c.conflicts {
			_ = s.Set(key, fmt.Sprint(attempt))
		}
		if attempt > 0 && attempt == c.endsAfter {
			end()
		}
	}, ctx, c.locked, 0})
	call := func() {
		err := f(before.Input{Text: "x", N: 1})(ctx, s.rdb, store, key)
		got = fmt.Sprintf("%s, %d runs", told(err), ctx.runs.Load())
	}
	if !c.locked {
		call()
		return got
	}
	rdb := redis.NewClient(&redis.Options{Addr: s.Addr(), DisableIdentity: true})
	other := lockupdate.New(rdb, lockupdate.Config{})
	t.Cleanup(func() {
		_ = other.Close()
		_ = rdb.Close()
	})
	require.NoError(t, other.WithLock(t.Context(), key, func(context.Context) error {
		call()
		return nil
	}))
	return got
}

// told names the known error that an error is.
func told(err error) string {
	for name, known := range map[string]error{
		"nil": nil, "ErrConflict": before.ErrConflict, "TxFailedErr": redis.TxFailedErr, "DeadlineExceeded": context.DeadlineExceeded,
	} {
		if errors.Is(err, known) {
			return name
		}
	}
	if errors.Is(err, after.ErrConflict) {
		return "ErrConflict"
	}
	return err.Error()
}

// counting is a ctx with a deadline that the test triggers. It counts the runs of a function.
type counting struct {
	context.Context
	runs atomic.Int32
}

func (c *counting) Value(key any) any {
	switch key {
	case before.Runs{}, after.Runs{}:
		c.runs.Add(1)
	}
	return c.Context.Value(key)
}

func (c *counting) Err() error {
	if c.Context.Err() == nil {
		return nil
	}
	return context.DeadlineExceeded
}

// rival acts before each commit, or, under a foreign lock, before each attempt to
// take the lock.
type rival struct {
	act    func(attempt int32)
	ctx    *counting
	locked bool
	polls  int32
}

func (*rival) DialHook(next redis.DialHook) redis.DialHook { return next }

func (r *rival) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		r.before(cmd)
		return next(ctx, cmd)
	}
}

func (r *rival) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		r.before(cmds...)
		return next(ctx, cmds)
	}
}

func (r *rival) before(cmds ...redis.Cmder) {
	script := "/lock/" + key
	if !r.locked {
		script = key // not the release of the lock, which may run beside the next attempt and restore an older value
	}
	writes := func(cmd redis.Cmder) bool {
		return cmd.Name() == "exec" || strings.HasPrefix(cmd.Name(), "eval") && cmd.Args()[3] == any(script)
	}
	if !slices.ContainsFunc(cmds, writes) {
		return
	}
	attempt := r.ctx.runs.Load()
	if r.locked {
		r.polls++
		attempt = r.polls
	}
	r.act(attempt)
}
