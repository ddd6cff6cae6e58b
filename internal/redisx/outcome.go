// Package redisx holds the knowledge about go-redis and its servers that both paths share: the outcome of a
// command by its error, and how to stop waiting for one.
package redisx

import (
	"context"
	"errors"
	"net"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/internal/resp"
	"github.com/unwatch/unwatch/rmw"
)

// Outcome is the knowledge about a command after its call has returned.
type Outcome uint8

const (
	// Done: it ran, and this is its reply.
	Done Outcome = iota
	// NotDone: it certainly did not run, and will not.
	NotDone
	// Unknown: it may have run, or may still run.
	Unknown
)

// OutcomeOf classifies a command by the error that go-redis returned for it. redis.Nil is a reply. An error
// that does not prove NotDone is Unknown: an error reply can come from a proxy that lost its backend after
// forwarding the command.
func OutcomeOf(err error) Outcome {
	if err == nil {
		return Done // avoids the allocations below
	}
	var op *net.OpError
	switch {
	case errors.Is(err, redis.Nil):
		return Done
	case errors.Is(err, rmw.ErrUnsupported), // refused by a local check, before sending
		errors.Is(err, rmw.ErrWrongKind), // from a reply
		errors.Is(err, ErrNotSent),
		errors.Is(err, redis.ErrClosed),
		errors.Is(err, redis.ErrPoolTimeout),
		errors.Is(err, redis.ErrPoolExhausted),
		errors.As(err, &op) && op.Op == "dial":
		return NotDone
	case MeaningOf(err).NotDone():
		return NotDone
	}
	return Unknown
}

// Reason names the rmw reason for a command that was NotDone, or that only reads.
func Reason(err error) error {
	var reply redis.Error
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return nil
	case errors.Is(err, rmw.ErrUnsupported):
		return rmw.ErrUnsupported
	case errors.Is(err, redis.ErrClosed): // the client was closed, so that no retry can help
		return rmw.ErrClosed
	case errors.As(err, &reply):
		return reasonOfReply(reply.Error())
	}
	return rmw.ErrUnavailable
}

func reasonOfReply(text string) error {
	switch m := resp.MeaningInScript(text); {
	case m.Unsupported():
		return rmw.ErrUnsupported
	case m == resp.WrongType:
		return rmw.ErrWrongKind
	}
	return rmw.ErrUnavailable
}

// IsWrongType reports whether a server refused a command because the key holds a value of another type. The
// text of Kvrocks has an additional prefix.
func IsWrongType(err error) bool {
	return MeaningOf(err) == resp.WrongType
}

// IsNoScript reports whether a backend lacks the script of an EVALSHA.
func IsNoScript(err error) bool { return MeaningOf(err) == resp.NoScript }

// MeaningOf returns the meaning of an error that is, or wraps, an error reply, and [resp.Unclear] for others.
func MeaningOf(err error) resp.Meaning {
	if err == nil {
		return resp.Unclear // avoids the allocation below
	}
	var reply redis.Error
	if !errors.As(err, &reply) {
		return resp.Unclear
	}
	return resp.MeaningOf(reply.Error())
}
