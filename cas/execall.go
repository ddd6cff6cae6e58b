package cas

import (
	"context"
	_ "embed" // the script
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

//go:embed lua/transact.lua
var transactScript string

// writing is the EXEC of an update of several keys.
type writing struct {
	changes  []change // of all keys that fn has used, also those that it only read
	decision string   // the key
	id       string   // "" writes nothing, and only asks whether the keys have changed
}

// writes reports whether the key is written at all.
func (c change) writes() bool { return c.ttl != 0 || !c.next.Equal(c.cur) }

// execAll sends MULTI, all writes, the decision and EXEC in one flush, once. It returns nil, errConflict, an error that
// means that nothing was written, a lost, or an rmw.ErrOutcomeUnknown.
func (s *Store) execAll(ctx context.Context, tx *redis.Tx, w writing) error {
	if err := s.askKeepTTL(ctx, tx, w); err != nil {
		return err
	}
	cmds := w.commands(ctx, s.fields.expire.Load(), s.old.Load())
	pipe := tx.TxPipeline()
	if err := pipe.BatchProcess(ctx, cmds...); err != nil {
		return err
	}
	_, err := pipe.Exec(ctx)
	var reply redis.Error
	switch {
	case err == nil && expired(cmds), errors.Is(err, redis.TxFailedErr):
		return errConflict
	case err == nil:
		return nil
	case redisx.OutcomeOf(err) == redisx.NotDone && noneRan(cmds) && !multiRefused(err):
		return refusal(cmds, err)
	case redisx.FailedWrite(err) != nil, w.id == "": // of the EXEC, which comes last; or nothing is to be written
		return unread{err, rmw.Key{}}
	case errors.As(err, &reply) && (!noneRan(cmds) || strings.Contains(err.Error(), "after a write")):
		return redisx.Because(rmw.ErrOutcomeUnknown, fmt.Errorf("a command of the transaction failed, and others may have been executed: %w", err))
	}
	return lost{err}
}

// askKeepTTL asks once whether the server has SET … KEEPTTL, if the writing needs it: a transaction does not end at a SET that
// fails. The key never exists, so that nothing is written.
func (s *Store) askKeepTTL(ctx context.Context, tx *redis.Tx, w writing) error {
	if s.keeps.Load() || !slices.ContainsFunc(w.changes, change.keepsTTL) {
		return nil
	}
	err := tx.Process(ctx, &redisx.Command{Cmd: redis.NewCmd(ctx, "set", w.decision+":absent", "", "xx", "keepttl")})
	switch {
	case redis.HasErrorPrefix(err, "syntax error"):
		s.old.Store(true)
	case err != nil && !errors.Is(err, redis.Nil):
		return unread{err, rmw.Key{}}
	}
	s.keeps.Store(true)
	return nil
}

// keepsTTL reports whether a string is written and keeps its expiry.
func (c change) keepsTTL() bool {
	return c.key.Kind == rmw.KindString && c.ttl == 0 && c.next.Exists() && c.writes()
}

// commands returns the commands between MULTI and EXEC.
func (w writing) commands(ctx context.Context, fieldsExpire, old bool) []redis.Cmder {
	for _, c := range w.changes {
		if fieldsExpire && c.key.Kind == rmw.KindHash || old && c.keepsTTL() {
			return []redis.Cmder{&redisx.Command{Cmd: redis.NewCmd(ctx, w.scriptArgs()...)}}
		}
	}
	if w.id == "" { // one that changes nothing
		return []redis.Cmder{&redisx.Command{Cmd: redis.NewCmd(ctx, "exists", w.changes[0].key.Name)}}
	}
	var cmds []redis.Cmder
	for _, c := range w.changes {
		if c.writes() {
			cmds = append(cmds, commands(ctx, c, old)...)
		}
	}
	set := redis.NewCmd(ctx, "set", w.decision, w.id, "px", decisionLife.Milliseconds())
	return append(cmds, &redisx.Command{Cmd: set})
}

// scriptArgs is the command that runs transactScript.
func (w writing) scriptArgs() []any {
	args := []any{"eval", transactScript, len(w.changes) + 1}
	for _, c := range w.changes {
		args = append(args, c.key.Name)
	}
	args = append(args, w.decision, w.id, decisionLife.Milliseconds())
	for _, c := range w.changes {
		args = append(args, c.scriptArgs()...)
	}
	return args
}

func (c change) scriptArgs() []any {
	expiry := any("keep")
	switch {
	case c.ttl > 0:
		expiry = c.ttl.Milliseconds()
	case c.ttl < 0:
		expiry = "none"
	}
	had := c.cur.Len()
	if c.cur.Exists() && c.key.Kind == rmw.KindString {
		had = 1
	}
	args := []any{c.key.Kind.String(), had, expiry}
	switch {
	case !c.writes():
		return append(args, 0, 0)
	case !c.next.Exists():
		return append(args, -1, 0)
	case c.key.Kind == rmw.KindString:
		return append(args, 1, 0, c.next.Text())
	}
	set, del := c.delta()
	args = append(args, len(set)/2, len(del))
	return append(append(args, set...), del...)
}
