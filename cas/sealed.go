package cas

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/internal/seal"
	"github.com/unwatch/unwatch/rmw"
)

// otherKind is the error of a key that holds another type than its Key says, or a seal of an update of several keys.
type otherKind struct{ error }

func (e otherKind) Unwrap() error { return e.error }

// sender sends the scripts of seals.
type sender struct{ *Store }

// Send implements [seal.Sender].
func (s sender) Send(ctx context.Context, calls ...*seal.Call) error {
	for _, c := range calls {
		cmd := redis.NewCmd(ctx, append([]any{"eval", c.Script.Source, 1, c.Key}, c.Args...)...)
		if err := s.gate.Await(ctx, func() {
			_ = s.rdb.Process(ctx, cmd)
			redisx.DropIfElsewhere(ctx, s.rdb, c.Key, false, cmd.Err())
		}); err != nil {
			return err
		}
		c.Reply, c.Err = cmd.Val(), cmd.Err()
		if redisx.OutcomeOf(c.Err) == redisx.Unknown {
			return c.Err
		}
	}
	return nil
}

// open returns when the key has no seal. A key of another type is an error: why, if the server permits no look.
func (s *Store) open(ctx context.Context, key rmw.Key, why error) error {
	m, err := seal.LookAt(ctx, sender{s}, key.Name)
	switch {
	case refused(err):
		return why
	case err != nil:
		return err
	case m.State == "open":
		return m.Holds(key.Kind)
	}
	_, err = seal.Resolve(ctx, sender{s}, key.Name, m)
	return err
}

// shown reads a key that holds another type than expected: the value that a seal, or the decision of its update, has.
// again means that it has no seal any more. The error is why, if the server permits no look.
func (s *Store) shown(ctx context.Context, key rmw.Key, why error) (v rmw.Value, again bool, err error) {
	if _, err = seal.LookAt(ctx, sender{s}, key.Name); refused(err) {
		return v, false, why
	}
	return seal.Shown(ctx, sender{s}, key)
}

// refused reports whether the script was refused, and not the connection lost.
func refused(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply) || errors.Is(err, rmw.ErrUnsupported)
}
