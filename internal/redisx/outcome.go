// Package redisx holds what both paths need to know about go-redis and the
// servers behind it: what an error says about whether a command ran, and how to
// stop waiting for one.
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

// Outcome is what is known about a command once its call has returned.
type Outcome uint8

const (
	// Done: it ran, and this is its answer.
	Done Outcome = iota
	// NotDone: it certainly did not run, and will not.
	NotDone
	// Unknown: it may have run, or may run yet.
	Unknown
)

// OutcomeOf judges a command by the error that go-redis returned for it. redis.Nil
// is an answer. What is not certainly NotDone is Unknown: an error reply can come
// from a proxy that lost its backend after passing the command on.
func OutcomeOf(err error) Outcome {
	if err == nil {
		return Done // without the allocations below
	}
	var op *net.OpError
	var reply redis.Error
	switch {
	case errors.Is(err, redis.Nil):
		return Done
	case errors.Is(err, rmw.ErrUnsupported), // refused by our own check, before sending
		errors.Is(err, rmw.ErrWrongKind), // an answer, as we read it
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

// ErrNotSent marks a command that we decided not to send.
var ErrNotSent = errors.New("not sent")

// notRun are the beginnings of error replies that mean: not executed. Those of a
// server precede the execution of a command, or are a script's first write; those
// of Codis are from its source, pkg/proxy/{session,forward,router}.go of
// release3.2; "Err unknown" is an old Pika's, "Invalid argument: WRONGTYPE" Kvrocks'.
var notRun = []string{
	"NOSCRIPT", "NOAUTH", "WRONGPASS", "NOPERM", "WRONGTYPE", "LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN",
	"TRYAGAIN", "MOVED ", "ASK ", "CROSSSLOT", "BUSY ", "OOM ", "MISCONF", "NOREPLICAS", "EXECABORT",
	"max number of clients",
	"unknown command", "Unknown Redis command", "Err unknown or unsupported command",
	"Invalid argument: WRONGTYPE", "unknown subcommand", "wrong number of arguments", "syntax error",
	"router is not online",
	// Other "handle request, …" stay open: during a semi-async slot move the
	// wrapped command may have run on the old backend already.
	"handle request, command", "handle request, slot is not ready", "handle request, bad slotsmgrt resp",
}

func refusedBeforeRunning(text string) bool {
	text = strings.TrimPrefix(text, "ERR ")
	if fromWithinScript(text) {
		// The script may have written before this command failed. Of these four
		// a server spares a script that has.
		return hasPrefix(text, "OOM ", "READONLY", "MISCONF", "NOREPLICAS")
	}
	return hasPrefix(text, notRun...)
}

// fromWithinScript recognises the error of a command that a script called, by the
// texts of Redis 3.2 to 8.
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
	case errors.As(err, &reply):
		return reasonOfReply(strings.TrimPrefix(reply.Error(), "ERR "))
	}
	return rmw.ErrUnavailable
}

func reasonOfReply(text string) error {
	text = strings.TrimPrefix(text, "EXECABORT Transaction discarded because of: ") // the reason of an EXEC
	switch {
	case hasPrefix(text, "NOPERM", "NOAUTH", "WRONGPASS", "CROSSSLOT", "unknown command", "Unknown Redis command",
		"Err unknown or unsupported command",
		"unknown subcommand", "wrong number of arguments", "syntax error"),
		// The ACL's answers from within a script: Redis 7.2, 7.0, and a renamed command.
		strings.Contains(text, "ACL failure in script"), strings.Contains(text, "can't run this command"),
		strings.Contains(text, "called from script"):
		return rmw.ErrUnsupported
	case isWrongType(text):
		return rmw.ErrWrongKind
	case strings.HasPrefix(text, "handle request, command") && strings.HasSuffix(text, "is not allowed"):
		return rmw.ErrUnsupported
	}
	return rmw.ErrUnavailable
}

// IsWrongType reports whether a server refused a command because the key holds a value
// of another type. Kvrocks says so in more words than others.
func IsWrongType(err error) bool {
	if err == nil {
		return false // without the allocation below
	}
	var reply redis.Error
	return errors.As(err, &reply) && isWrongType(strings.TrimPrefix(reply.Error(), "ERR "))
}

func isWrongType(text string) bool {
	return strings.HasPrefix(strings.TrimPrefix(text, "Invalid argument: "), "WRONGTYPE")
}

// IsNoScript reports whether a backend did not know the script of an EVALSHA.
func IsNoScript(err error) bool { return err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") }
