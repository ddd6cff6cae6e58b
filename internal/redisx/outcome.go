// Package redisx holds the knowledge about go-redis and its servers that both paths share: the outcome of a
// command by its error, and how to stop waiting for one.
package redisx

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

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
	var reply redis.Error
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
	case errors.As(err, &reply) && refusedBeforeRunning(reply.Error()):
		return NotDone
	}
	return Unknown
}

// ErrNotSent marks a command that was not sent.
var ErrNotSent = errors.New("not sent")

// notSupported are the prefixes of error replies to a command that the server, the proxy or an ACL never executes. "Err
// unknown" is that of old Pika versions, "unsupported" that of Envoy 1.14 and 1.16, "forbid" that of predixy.
var notSupported = []string{
	"NOPERM", "NOAUTH", "WRONGPASS", "CROSSSLOT", "unknown command", "Unknown Redis command", "Err unknown or unsupported command",
	"unsupported command", "forbid transaction in current server pool", "unknown subcommand", "wrong number of arguments", "syntax error",
}

func isNotSupported(text string) bool {
	codis := strings.HasPrefix(text, "handle request, command") && strings.HasSuffix(text, "is not allowed")
	camellia := strings.HasPrefix(text, "command '") && strings.HasSuffix(text, "' not support")
	return codis || camellia || hasPrefix(text, notSupported...)
}

// notRun are the prefixes of other error replies that mean: not executed. A server sends them before it executes
// a command, or at a script's first write; those of Codis are from its source,
// pkg/proxy/{session,forward,router}.go of release3.2; "Invalid argument: WRONGTYPE" is that of Kvrocks.
var notRun = []string{
	"NOSCRIPT", "WRONGTYPE", "LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN",
	"TRYAGAIN", "MOVED ", "ASK ", "BUSY ", "OOM ", "MISCONF", "NOREPLICAS", "EXECABORT",
	"max number of clients", "Invalid argument: WRONGTYPE", "router is not online",
	// Other texts "handle request, …" stay open: during a semi-async slot migration the wrapped command may
	// have run on the old backend already.
	"handle request, command", "handle request, slot is not ready", "handle request, bad slotsmgrt resp",
}

func refusedBeforeRunning(text string) bool {
	text = strings.TrimPrefix(text, "ERR ")
	if fromWithinScript(text) {
		// The script may have written before this command failed. A server does not return these four to a
		// script that has written.
		return hasPrefix(text, "OOM ", "READONLY", "MISCONF", "NOREPLICAS")
	}
	return isNotSupported(text) || hasPrefix(text, notRun...)
}

// fromWithinScript recognizes the error of a command that a script called, by the texts of Redis 3.2 to 8.
func fromWithinScript(text string) bool {
	for _, sign := range []string{"@user_script", "Error running script", "script: ", "called from script", "ACL failure in script"} {
		if strings.Contains(text, sign) {
			return true
		}
	}
	return false
}

func hasPrefix(text string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(text, p) })
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
		return reasonOfReply(strings.TrimPrefix(reply.Error(), "ERR "))
	}
	return rmw.ErrUnavailable
}

func reasonOfReply(text string) error {
	text = strings.TrimPrefix(text, "EXECABORT Transaction discarded because of: ") // the cause of a failed EXEC
	switch {
	case isNotSupported(text),
		// ACL errors inside a script: Redis 7.2, 7.0, and a renamed command.
		strings.Contains(text, "ACL failure in script"), strings.Contains(text, "can't run this command"),
		strings.Contains(text, "called from script"):
		return rmw.ErrUnsupported
	case isWrongType(text):
		return rmw.ErrWrongKind
	}
	return rmw.ErrUnavailable
}

// IsWrongType reports whether a server refused a command because the key holds a value of another type. The
// text of Kvrocks has an additional prefix.
func IsWrongType(err error) bool {
	if err == nil {
		return false // avoids the allocation below
	}
	var reply redis.Error
	return errors.As(err, &reply) && isWrongType(strings.TrimPrefix(reply.Error(), "ERR "))
}

func isWrongType(text string) bool {
	return strings.HasPrefix(strings.TrimPrefix(text, "Invalid argument: "), "WRONGTYPE")
}

// IsNoScript reports whether a backend lacks the script of an EVALSHA.
func IsNoScript(err error) bool { return err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") }
