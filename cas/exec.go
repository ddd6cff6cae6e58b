package cas

import (
	"context"
	_ "embed" // the scripts
	"errors"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/internal/resp"
	"github.com/unwatch/unwatch/rmw"
)

//go:embed lua/keepttl.lua
var keepTTL string

//go:embed lua/hash.lua
var hashScript string

// exec sends MULTI, the change and EXEC in one flush, once. It returns nil,
// errConflict, an error that means that nothing was written, or one that is an
// rmw.ErrOutcomeUnknown.
func (s *Store) exec(ctx context.Context, tx *redis.Tx, c change) error {
	old := s.old.Load()
	pipe := tx.TxPipeline()
	if err := pipe.BatchProcess(ctx, commands(ctx, c, old)...); err != nil {
		return err
	}
	cmds, err := pipe.Exec(ctx)
	switch {
	case err == nil && expired(cmds):
		return errConflict
	case err == nil:
		return nil
	case errors.Is(err, redis.TxFailedErr):
		return errConflict
	case !old && redis.HasErrorPrefix(cmds[0].Err(), "syntax error"):
		// The SET, all there was to write, was refused for its KEEPTTL.
		s.old.Store(true)
		s.keeps.Store(true)
		return errConflict
	case redisx.OutcomeOf(err) == redisx.NotDone && noneRan(cmds) && !multiRefused(err):
		return refusal(cmds, err)
	case redisx.FailedWrite(err) != nil: // the EXEC, which comes last
		return unread{err, c.key}
	}
	return redisx.Because(rmw.ErrOutcomeUnknown, err)
}

// expired reports whether a script found that the value, or a field of it, has expired. Then it wrote nothing.
func expired(cmds []redis.Cmder) bool {
	cmd, ok := cmds[0].(*redisx.Command)
	n, isInt := cmd.Val().(int64)
	return ok && cmd.Name() == "eval" && isInt && n == 0
}

// multiRefused reports whether err is the reply to a MULTI that is not permitted: go-redis then returns it for each
// command, and leaves the other replies unread. The server has executed the write without MULTI.
func multiRefused(err error) bool {
	m := redisx.MeaningOf(err)
	return (m == resp.Refused || m == resp.Misused || m == resp.Forbidden) && strings.Contains(strings.ToLower(err.Error()), "'multi'")
}

// noneRan reports whether each command failed. A transaction does not end at the
// first one that does.
func noneRan(cmds []redis.Cmder) bool {
	return !slices.ContainsFunc(cmds, func(cmd redis.Cmder) bool { return cmd.Err() == nil })
}

// refusal returns why a command was not queued, rather than that EXEC therefore
// refused as well.
func refusal(cmds []redis.Cmder, err error) error {
	for _, cmd := range cmds {
		if !redis.HasErrorPrefix(cmd.Err(), "EXECABORT") {
			return cmd.Err()
		}
	}
	return err
}

// commands returns the commands between MULTI and EXEC.
func commands(ctx context.Context, c change, old bool) []redis.Cmder {
	cmd := func(args ...any) redis.Cmder { return &redisx.Command{Cmd: redis.NewCmd(ctx, args...)} }
	name := c.key.Name
	switch {
	case c.key.Kind == rmw.KindHash && c.fieldsExpire:
		return []redis.Cmder{cmd(hashArgs(c)...)}
	case !c.next.Exists():
		return []redis.Cmder{cmd("del", name)}
	}
	if c.key.Kind == rmw.KindString {
		text := c.next.Text()
		switch {
		case c.ttl > 0:
			return []redis.Cmder{cmd("set", name, text, "px", c.ttl.Milliseconds())}
		case c.ttl < 0:
			return []redis.Cmder{cmd("set", name, text)}
		case old:
			had := 0
			if c.cur.Exists() {
				had = 1
			}
			return []redis.Cmder{cmd("eval", keepTTL, 1, name, text, had)}
		}
		return []redis.Cmder{cmd("set", name, text, "keepttl")}
	}
	return hashCommands(cmd, c)
}

// hashArgs is the command that runs hashScript.
func hashArgs(c change) []any {
	expiry := any("keep")
	switch {
	case c.ttl > 0:
		expiry = c.ttl.Milliseconds()
	case c.ttl < 0:
		expiry = "none"
	}
	if !c.next.Exists() {
		return []any{"eval", hashScript, 1, c.key.Name, c.cur.Len(), expiry, -1}
	}
	set, del := c.delta()
	args := []any{"eval", hashScript, 1, c.key.Name, c.cur.Len(), expiry, len(set) / 2}
	return append(append(args, set...), del...)
}

// delta returns the fields to set, each with its value, and the fields to delete.
func (c change) delta() (set, del []any) {
	for field, value := range c.next.All() {
		if was, ok := c.cur.Field(field); !ok || was != value {
			set = append(set, field, value)
		}
	}
	for field := range c.cur.All() {
		if _, ok := c.next.Field(field); !ok {
			del = append(del, field)
		}
	}
	return set, del
}

// hashCommands writes only the fields that differ.
func hashCommands(cmd func(args ...any) redis.Cmder, c change) []redis.Cmder {
	var cmds []redis.Cmder
	set, del := c.delta()
	if len(set) > 0 {
		cmds = append(cmds, cmd(append([]any{"hmset", c.key.Name}, set...)...)) // HSET takes several fields since 4.0
	}
	if len(del) > 0 {
		cmds = append(cmds, cmd(append([]any{"hdel", c.key.Name}, del...)...))
	}
	switch {
	case c.ttl > 0:
		cmds = append(cmds, cmd("pexpire", c.key.Name, c.ttl.Milliseconds()))
	case c.ttl < 0:
		cmds = append(cmds, cmd("persist", c.key.Name))
	}
	if len(cmds) == 0 { // the key has the value already; touch nothing, but let EXEC decide
		cmds = append(cmds, cmd("hlen", c.key.Name))
	}
	return cmds
}
