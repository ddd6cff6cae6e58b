package sealed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/internal/seal"
	"github.com/unwatch/unwatch/rmw"
)

// Client sends the commands of a hook. *redis.Client, *redis.ClusterClient and redis.UniversalClient have it.
type Client interface {
	Process(ctx context.Context, cmd redis.Cmder) error
	Pipeline() redis.Pipeliner
}

// NewHook returns a hook that answers plain reads of a sealed key by the value that the key has. Add it to the client itself, and
// to each other client that reads the same keys on the same server under one WATCH.
//
// The hook is safe for concurrent use. Its own commands pass the other hooks of the client.
func NewHook(client Client) redis.Hook {
	return &hook{client: client}
}

type hook struct {
	client  Client
	watched atomic.Bool // a WATCH was sent
}

// ownKey marks the ctx of the commands that the hook sends itself.
type ownKey struct{}

// DialHook implements redis.Hook.
func (h *hook) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (h *hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		r := h.begin(ctx, cmd)
		if r == nil {
			return next(ctx, cmd)
		}
		sent := r.sent(ctx)
		var err error
		if len(sent) == 1 {
			err = next(ctx, sent[0])
			sent[0].SetErr(err)
		} else {
			h.flush(ctx, sent)
		}
		if !h.complete(ctx, []*read{r}) {
			return err
		}
		return cmd.Err()
	}
}

// ProcessPipelineHook implements redis.Hook.
func (h *hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if len(cmds) == 0 || cmds[0].Name() == "multi" {
			return next(ctx, cmds)
		}
		reads, sent := h.plan(ctx, cmds)
		if len(reads) == 0 {
			return next(ctx, cmds)
		}
		err := next(ctx, sent)
		unseen := err != nil && firstError(sent) == nil // no command has it
		if !h.complete(ctx, reads) || unseen {
			return err
		}
		return firstError(cmds)
	}
}

// plan returns the reads of a pipeline, and the commands to send. A read of a key that another command names is none of them: a
// second look could see the write of that command.
func (h *hook) plan(ctx context.Context, cmds []redis.Cmder) (reads []*read, sent []redis.Cmder) {
	all := make([]*read, len(cmds))
	found, others := false, map[string]bool{}
	for i, cmd := range cmds {
		all[i] = h.begin(ctx, cmd)
		found = found || all[i] != nil
	}
	if !found {
		return nil, nil
	}
	for i, cmd := range cmds {
		if all[i] == nil {
			for _, arg := range cmd.Args() {
				if key, ok := arg.(string); ok {
					others[key] = true
				}
			}
		}
	}
	for i, cmd := range cmds {
		if r := all[i]; r != nil && !slices.ContainsFunc(r.keys(), func(key string) bool { return others[key] }) {
			reads, sent = append(reads, r), append(sent, r.sent(ctx)...)
		} else {
			sent = append(sent, cmd)
		}
	}
	return reads, sent
}

func firstError(cmds []redis.Cmder) error {
	for _, cmd := range cmds {
		if err := cmd.Err(); err != nil {
			return err
		}
	}
	return nil
}

// begin returns the read that a command is, or nil.
func (h *hook) begin(ctx context.Context, cmd redis.Cmder) *read {
	if cmd.Name() == "watch" {
		h.watched.Store(true)
	}
	if ctx.Value(ownKey{}) != nil {
		return nil
	}
	return newRead(cmd)
}

// flush sends own commands in one flush. Each has its reply or its error then.
func (h *hook) flush(ctx context.Context, cmds []redis.Cmder) {
	ctx = context.WithValue(ctx, ownKey{}, true)
	switch {
	case redisx.IsNil(h.client):
		for _, cmd := range cmds {
			cmd.SetErr(errNoClient)
		}
	case len(cmds) == 1:
		_ = h.client.Process(ctx, cmds[0])
	case len(cmds) > 1:
		pipe := h.client.Pipeline()
		err := pipe.BatchProcess(ctx, cmds...)
		if err == nil {
			_, err = pipe.Exec(ctx)
		}
		if err != nil && firstError(cmds) == nil {
			for _, cmd := range cmds {
				cmd.SetErr(err)
			}
		}
	}
}

var (
	errNoClient = fmt.Errorf("%w: sealed.NewHook needs a client, not nil", rmw.ErrInvalid)
	errSealed   = fmt.Errorf("%w: an update of several keys has sealed the key for more than %v; try again", rmw.ErrContended, seal.Patience)
)

// complete finds the sealed keys of reads that have replies, and answers them. It reports whether any command has another reply
// than the one that it had.
func (h *hook) complete(ctx context.Context, reads []*read) (changed bool) {
	var parts []*part
	var more []redis.Cmder
	for _, r := range reads {
		r.split(ctx)
		for _, p := range r.parts {
			if parts = append(parts, p); p.unsent {
				p.unsent = false
				more = append(more, p.cmd)
			}
		}
	}
	h.flush(ctx, more)
	began := time.Now()
	for pause := time.Duration(0); ; pause = min(max(2*pause, 500*time.Microsecond), 32*time.Millisecond) {
		again := h.answer(ctx, parts)
		if len(again) == 0 {
			break
		}
		err := redisx.Sleep(ctx, pause)
		if err == nil && time.Since(began) > seal.Patience {
			err = errSealed
		}
		if err != nil {
			for _, p := range again {
				p.err = err
			}
			break
		}
		cmds := make([]redis.Cmder, len(again))
		for i, p := range again {
			cmds[i] = p.cmd
		}
		h.flush(ctx, cmds) // also more than once: a replica may be behind
	}
	for _, r := range reads {
		changed = r.compose() || changed
	}
	return changed
}

// answer answers the parts with a sealed key, and returns the parts with a key that is open meanwhile.
func (h *hook) answer(ctx context.Context, parts []*part) (again []*part) {
	var keys []string
	for _, p := range parts {
		if p.suspect() {
			keys = append(keys, p.key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	found := h.look(ctx, keys)
	for _, p := range parts {
		if !p.suspect() {
			continue
		}
		a := found[p.key]
		switch {
		case a.err != nil:
			p.err = a.err
		case a.open == "":
			p.shown, p.value, p.left = true, a.value, a.left
		case p.mayBe(a.open):
			again = append(again, p)
		default:
			p.final = true
		}
	}
	return again
}

// because is a WRONGTYPE with the reason why the key has no answer.
type because struct{ reply, why error }

func (e because) Error() string   { return e.reply.Error() + ": " + e.why.Error() }
func (e because) Unwrap() []error { return []error{e.reply, e.why} }

// unanswered returns the error of a key without an answer.
func unanswered(reply error, key string, why error) error {
	if reply != nil && !errors.Is(why, context.Canceled) && !errors.Is(why, context.DeadlineExceeded) {
		return because{reply, why}
	}
	return fmt.Errorf("sealed: key %.128q: %w", key, why)
}
