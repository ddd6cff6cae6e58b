package cas

import (
	"context"
	_ "embed" // the scripts
	"errors"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

//go:embed lua/keepttl.lua
var keepTTL string

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
	case err == nil:
		return nil
	case errors.Is(err, redis.TxFailedErr):
		return errConflict
	case !old && redis.HasErrorPrefix(cmds[0].Err(), "syntax error"):
		// The SET, all there was to write, was refused for its KEEPTTL.
		s.old.Store(true)
		return errConflict
	case redisx.OutcomeOf(err) == redisx.NotDone && noneRan(cmds):
		return refusal(cmds, err)
	}
	return redisx.Because(rmw.ErrOutcomeUnknown, err)
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
	if !c.next.Exists() {
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
			return []redis.Cmder{cmd("eval", keepTTL, 1, name, text)}
		}
		return []redis.Cmder{cmd("set", name, text, "keepttl")}
	}
	return hashCommands(cmd, c)
}

// hashCommands writes only the fields that differ.
func hashCommands(cmd func(args ...any) redis.Cmder, c change) []redis.Cmder {
	var cmds []redis.Cmder
	set, del := []any{"hmset", c.key.Name}, []any{"hdel", c.key.Name} // HSET takes several fields since 4.0
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
	if len(set) > 2 {
		cmds = append(cmds, cmd(set...))
	}
	if len(del) > 2 {
		cmds = append(cmds, cmd(del...))
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
