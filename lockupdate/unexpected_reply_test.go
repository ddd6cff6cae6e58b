package lockupdate_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	locking "github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// The error for a malformed reply names the command, and the type and length of the reply, not its
// content. It is not retryable. For a commit the outcome is unknown.
func TestUnexpectedReplies(t *testing.T) {
	update := func(ctx context.Context, s *lockupdate.Store) error {
		_, err := s.Update(ctx, rmw.Key{Name: "s"}, appendText("x"))
		return err
	}
	for name, c := range map[string]struct {
		commit lockupdate.Commit
		script string // or the command with the same job
		reply  any
		call   func(ctx context.Context, s *lockupdate.Store) error
		reason error
		text   string
	}{
		"acquire": {script: "acquire", reply: "SECRET", call: update, reason: rmw.ErrUnsupported,
			text: `acquire "s": unsupported by this server or proxy: the reply to the script acquire is a string of 6 bytes`},
		"read": {script: "read", reply: []any{int64(7), "SECRET"}, call: update, reason: rmw.ErrUnsupported,
			text: `read "s": unsupported by this server or proxy: the reply to the script read is an array of 2 elements`},
		"read alone": {script: "read", reply: int64(12345), reason: rmw.ErrUnsupported,
			call: func(ctx context.Context, s *lockupdate.Store) error {
				_, err := s.Read(ctx, rmw.Key{Name: "s"})
				return err
			},
			text: "the reply to the script read is an integer"},
		"peek": {script: "peek", reply: []any{}, reason: rmw.ErrUnsupported,
			call: func(ctx context.Context, s *lockupdate.Store) error {
				_, _, err := s.Peek(ctx, rmw.Key{Name: "s"})
				return err
			},
			text: "the reply to the script peek is an array of 0 elements"},
		"inspect": {script: "inspect", reply: nil, reason: rmw.ErrUnsupported,
			call: func(ctx context.Context, s *lockupdate.Store) error { _, err := s.Inspect(ctx, "s"); return err },
			text: "the reply to the script inspect is no value"},
		"token": {script: "token", reply: "SECRET", reason: rmw.ErrUnsupported,
			call: func(ctx context.Context, s *lockupdate.Store) error {
				return s.WithLock(ctx, "s", func(ctx context.Context) error { _, err := locking.Token(ctx); return err })
			},
			text: "the reply to the script token is a string of 6 bytes"},
		"commit": {script: "commit_string", reply: map[any]any{"SECRET": "SECRET"}, call: update, reason: rmw.ErrOutcomeUnknown,
			text: "the reply to the script commit_string is a map of 1 entries"},
		"a command": {commit: lockupdate.CommitIFEQ, script: "inspect", reply: int64(12345), reason: rmw.ErrUnsupported,
			call: func(ctx context.Context, s *lockupdate.Store) error { _, err := s.Inspect(ctx, "s"); return err },
			text: "the reply to TYPE is an integer"},
	} {
		bubble(t, name, func(t *testing.T) {
			f := newFixture(t, lockupdate.Config{Commit: c.commit})
			require.NoError(t, update(t.Context(), f.store))
			lockupdate.Settle(f.store)
			f.rdb.AddHook(afterwards(func(cmd redis.Cmder) {
				if cmd, ok := cmd.(interface{ SetVal(v any) }); ok && lockupdate.RequestName(argsOf(cmd.(redis.Cmder))) == c.script {
					cmd.SetVal(c.reply)
				}
			}))
			err := c.call(t.Context(), f.store)
			require.ErrorIs(t, err, c.reason)
			require.ErrorContains(t, err, c.text)
			assert.NotContains(t, err.Error(), "SECRET")
			assert.ErrorContains(t, err, "miniredis older than v2.40.0")
			assert.False(t, rmw.Retryable(err))
		})
	}
}
