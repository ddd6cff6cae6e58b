package observe

import (
	"context"
	"errors"
	"slices"

	"github.com/unwatch/unwatch/rmw"
)

// The reasons that [Reason] returns besides those of the table. Panic is the reason of a call that
// fn left by a panic or by runtime.Goexit.
const (
	OK    = "ok"
	Fn    = "fn"
	Other = "other"
	Panic = "panic"

	outcomeUnknown = "outcome_unknown"
)

// sentinels are in the order in which they decide: an unknown outcome is never hidden by another reason,
// and the end of a ctx counts only if the path gives no reason.
var sentinels = []struct {
	err  error
	word string
}{
	{rmw.ErrOutcomeUnknown, outcomeUnknown},
	{rmw.ErrLockLost, "lock_lost"},
	{rmw.ErrContended, "contended"},
	{rmw.ErrClosed, "closed"},
	{rmw.ErrUnavailable, "unavailable"},
	{rmw.ErrUnsupported, "unsupported"},
	{rmw.ErrWrongKind, "wrong_kind"},
	{rmw.ErrUndecodable, "undecodable"},
	{rmw.ErrInvalid, "invalid"},
	{context.Canceled, "canceled"},
	{context.DeadlineExceeded, "deadline"},
}

// Reason returns the outcome of a call as one word of [Reasons]. An error without a reason of package
// rmw is fn's own, unless it is an [rmw.Error].
func Reason(err error) string {
	if err == nil {
		return OK
	}
	for _, s := range sentinels {
		if errors.Is(err, s.err) {
			return s.word
		}
	}
	if _, ok := errors.AsType[*rmw.Error](err); ok {
		return Other
	}
	return Fn
}

// Reasons returns all words that can be a reason.
func Reasons() []string {
	words := []string{OK}
	for _, s := range sentinels {
		words = append(words, s.word)
	}
	return slices.Concat(words, []string{Fn, Panic, Other})
}
