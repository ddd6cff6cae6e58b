package rmw

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The reasons an [Updater] or a [Reader] gives for failing. Test for them with
// errors.Is; every path reports the same situation with the same reason.
//
// Only [ErrOutcomeUnknown] leaves open whether the update was written. Every
// other error, including one that fn returned, means: nothing was written.
var (
	// ErrContended: other writers kept winning until the attempts, the wait
	// limit or the ctx ran out. Retry later, or make the key less hot.
	ErrContended = errors.New("contended: other writers kept the key busy")

	// ErrLockLost: the lease ended before the update could be committed: fn was
	// cancelled, or took longer than the path allows. It is also the cause of
	// the ctx that fn was given.
	ErrLockLost = errors.New("lock lost: the lease ended before the update did")

	// ErrOutcomeUnknown: the write was sent and no trustworthy answer came
	// back. It may have happened, may not have, and may still happen. Read
	// the key, or make the operation idempotent, before you try again.
	ErrOutcomeUnknown = errors.New("outcome unknown: the write was sent but its answer was lost")

	// ErrWrongKind: the stored value is of another Redis type than Key.Kind,
	// or fn returned a Value of another Kind.
	ErrWrongKind = errors.New("wrong kind of value")

	// ErrUnsupported: the command was refused, by the server, by the proxy or
	// by the profile check before it was sent. Retrying cannot help.
	ErrUnsupported = errors.New("unsupported by this server or proxy")

	// ErrUnavailable: the store could not be reached, or answered that it
	// cannot serve now. Nothing was written.
	ErrUnavailable = errors.New("store unavailable")

	// ErrInvalid: the Key, the Value or the configuration cannot be used as
	// given. The text says what to change.
	ErrInvalid = errors.New("invalid argument")

	// ErrUndecodable: a [Typed] found bytes that its codec cannot read. They are
	// left as they are.
	ErrUndecodable = errors.New("the stored value cannot be decoded")

	// ErrClosed: the Store, or its client, was closed before or during the call.
	ErrClosed = errors.New("store closed")
)

// Error is the error of a path that fails for a reason of its own. An error
// that fn returned is passed on as it is, never wrapped in an Error.
//
// Its text names the key but never a value.
type Error struct {
	Path     string // the failed package: "cas", "lockupdate", ...
	Op       string // its operation: "acquire", "read", "commit", ...
	Key      string // Key.Name
	Attempts int    // how often fn had been called by then
	Reason   error  // is one of the Err variables of this package, with or without more text; nil when only the ctx ended
	Cause    error  // the underlying error, or nil
}

// Error names the path, the operation, the key, the reason and the cause.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s %s", e.Path, e.Op, quoteKey(e.Key))
	if e.Attempts > 1 {
		fmt.Fprintf(&b, " (attempt %d)", e.Attempts)
	}
	if e.Reason != nil {
		b.WriteString(": ")
		b.WriteString(e.Reason.Error())
	}
	if e.Cause != nil {
		b.WriteString(": ")
		b.WriteString(e.Cause.Error())
	}
	return b.String()
}

// Unwrap makes both Reason and Cause visible to errors.Is and errors.As.
func (e *Error) Unwrap() []error {
	errs := make([]error, 0, 2)
	if e.Reason != nil {
		errs = append(errs, e.Reason)
	}
	if e.Cause != nil {
		errs = append(errs, e.Cause)
	}
	return errs
}

// Retryable reports whether the same Update, sent again as it is, may succeed
// and cannot apply twice. It is false for nil, for [ErrOutcomeUnknown] (the
// first try may have been written) and once a ctx has ended.
func Retryable(err error) bool {
	switch {
	case err == nil,
		errors.Is(err, ErrOutcomeUnknown),
		errors.Is(err, context.Canceled),
		errors.Is(err, context.DeadlineExceeded):
		return false
	}
	return errors.Is(err, ErrContended) || errors.Is(err, ErrLockLost) || errors.Is(err, ErrUnavailable)
}

// quoteKey keeps a hostile or huge key name readable on one line.
func quoteKey(name string) string {
	const limit = 128
	if len(name) <= limit {
		return strconv.Quote(name)
	}
	return fmt.Sprintf("%s… (%d bytes)", strconv.Quote(name[:limit]), len(name))
}
