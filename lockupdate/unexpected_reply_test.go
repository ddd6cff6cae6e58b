package lockupdate_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// The error for a malformed reply names the command, and the type and length of the reply, not its
// content. It is not retryable. For a commit the outcome is unknown.
func TestUnexpectedReplies(t *testing.T) {
	for name, c := range map[string]struct {
		commit lockupdate.Commit
		script string // or the command with the same job
		reply  any
		call   string // an operation
		reason error
		text   string
	}{
		"acquire": {script: "acquire", reply: "SECRET", call: "update", reason: rmw.ErrUnsupported,
			text: `acquire "s": unsupported by this server or proxy: the reply to the script acquire is a string of 6 bytes`},
		"read": {script: "read", reply: []any{int64(7), "SECRET"}, call: "update", reason: rmw.ErrUnsupported,
			text: `read "s": unsupported by this server or proxy: the reply to the script read is an array of 2 elements`},
		"read alone": {script: "read", reply: int64(12345), call: "read", reason: rmw.ErrUnsupported,
			text: "the reply to the script read is an integer"},
		"peek": {script: "peek", reply: []any{}, call: "peek", reason: rmw.ErrUnsupported,
			text: "the reply to the script peek is an array of 0 elements"},
		"inspect": {script: "inspect", reply: nil, call: "inspect", reason: rmw.ErrUnsupported,
			text: "the reply to the script inspect is no value"},
		"token": {script: "token", reply: "SECRET", call: "token", reason: rmw.ErrUnsupported,
			text: "the reply to the script token is a string of 6 bytes"},
		"commit": {script: "commit_string", reply: map[any]any{"SECRET": "SECRET"}, call: "update", reason: rmw.ErrOutcomeUnknown,
			text: "the reply to the script commit_string is a map of 1 entries"},
		"a command": {commit: lockupdate.CommitIFEQ, script: "inspect", reply: int64(12345), call: "inspect", reason: rmw.ErrUnsupported,
			text: "the reply to TYPE is an integer"},
	} {
		bubble(t, name, func(t *testing.T) {
			f := newFixture(t, lockupdate.Config{Commit: c.commit})
			require.NoError(t, operations["update"](t.Context(), f.store))
			lockupdate.Settle(f.store)
			f.rdb.AddHook(afterwards(func(cmd redis.Cmder) {
				if cmd, ok := cmd.(interface{ SetVal(v any) }); ok && lockupdate.RequestName(argsOf(cmd.(redis.Cmder))) == c.script {
					cmd.SetVal(c.reply)
				}
			}))
			err := operations[c.call](t.Context(), f.store)
			require.ErrorIs(t, err, c.reason)
			require.ErrorContains(t, err, c.text)
			assert.NotContains(t, err.Error(), "SECRET")
			assert.ErrorContains(t, err, "miniredis older than v2.40.0")
			assert.False(t, rmw.Retryable(err))
		})
	}
}
