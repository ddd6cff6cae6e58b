package cas

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/internal/seal"
	"github.com/unwatch/unwatch/rmw"
)

// open returns nil when a key that held another type is open: it had the seal of an update of several keys by package
// lockupdate. wrongKind is the error for any other key.
func (s *Store) open(ctx context.Context, key rmw.Key, wrongKind error) error {
	m, err := seal.LookAt(ctx, sender{s}, key.Name)
	switch {
	case err != nil:
		return notAsked(wrongKind, err)
	case m.State == "open" && m.Holds(key.Kind) != nil:
		return wrongKind
	case m.State == "open":
		return nil
	}
	_, err = seal.Resolve(ctx, sender{s}, key.Name, m)
	return err
}

// shown returns the value that a sealed key shows. open means that the key has no seal any more: read it again.
func (s *Store) shown(ctx context.Context, key rmw.Key, wrongKind error) (v rmw.Value, open bool, err error) {
	v, open, err = seal.Shown(ctx, sender{s}, key)
	switch {
	case err == nil:
		return v, open, nil
	case open:
		return rmw.Value{}, false, wrongKind
	}
	if _, look := seal.LookAt(ctx, sender{s}, key.Name); look != nil {
		err = notAsked(wrongKind, look) // rather than an error of the seal
	}
	return rmw.Value{}, false, err
}

// notAsked returns the error for a key of another type that may be sealed. If the script is refused, it is the type alone.
func notAsked(wrongKind, err error) error {
	var reply redis.Error
	if errors.Is(redisx.Reason(err), rmw.ErrUnsupported) || errors.As(err, &reply) && !redisx.IsAway(err) {
		return fmt.Errorf("%w; whether an update of several keys has sealed it could not be asked: %w", wrongKind, redisx.WithoutArguments(err))
	}
	return err
}

// sender sends the scripts of seals.
type sender struct{ *Store }

// Send implements [seal.Sender].
func (s sender) Send(ctx context.Context, calls ...*seal.Call) error {
	for _, c := range calls {
		if err := s.send(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// send sends a script, again if its answer is lost.
func (s sender) send(ctx context.Context, c *seal.Call) error {
	args := append([]any{"eval", c.Script.Source, 1, c.Key}, c.Args...)
	var o redisx.Outage
	for broken := 0; ; {
		cmd := redis.NewCmd(ctx, args...)
		var err error
		if left := s.gate.Await(ctx, func() {
			err = s.rdb.Process(ctx, cmd)
			redisx.DropIfElsewhere(ctx, s.rdb, c.Key, false, err)
		}); left != nil {
			return left
		}
		switch {
		case err == nil || errors.Is(err, redis.Nil):
			c.Reply, c.Err = cmd.Val(), nil
			return nil
		case !s.gate.Closed() && o.Another(ctx, err):
		case redisx.OutcomeOf(err) == redisx.Unknown && ctx.Err() == nil && broken+1 < tries:
			broken++
		case redisx.OutcomeOf(err) == redisx.Unknown:
			return o.EndOf(ctx, err)
		default:
			c.Reply, c.Err = nil, o.EndOf(ctx, err)
			return nil
		}
	}
}
