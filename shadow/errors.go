package shadow

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/sony/gobreaker/v2"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow/internal/notcompared"
	"github.com/unwatch/unwatch/shadow/report"
)

var (
	// errInput ends a playback on a value other than the one that its update was computed from.
	errInput = errors.New("shadow: the value is not the one that the update was computed from")
	// errPanicked replaces a panic of the hidden path. The panic's own text may be private.
	errPanicked = errors.New("shadow: the path panicked")
	errEnded    = fmt.Errorf("%w: the shadow was closed or killed", rmw.ErrClosed)
)

// errorKinds names errors for the report; the first match counts. An error with an outage
// is about the store and not about the call.
var errorKinds = []struct {
	err    error
	name   string
	outage report.Reason
}{
	{rmw.ErrContended, "contended", notcompared.ShadowContended},
	{rmw.ErrLockLost, "lock lost", notcompared.ShadowUnavailable},
	{rmw.ErrOutcomeUnknown, "outcome unknown", notcompared.ShadowUnavailable},
	{rmw.ErrWrongKind, "wrong kind", ""},
	{rmw.ErrUnsupported, "unsupported", ""},
	{rmw.ErrUnavailable, "unavailable", notcompared.ShadowUnavailable},
	{rmw.ErrInvalid, "invalid", ""},
	{rmw.ErrUndecodable, "undecodable", ""},
	{rmw.ErrClosed, "closed", notcompared.ShadowUnavailable},
	{context.Canceled, "cancelled", notcompared.ShadowTimeout},
	{context.DeadlineExceeded, "timeout", notcompared.ShadowTimeout},
	{errPanicked, "panic", notcompared.ShadowPanic},
	{gobreaker.ErrOpenState, otherError, notcompared.DroppedBreaker},
	{gobreaker.ErrTooManyRequests, otherError, notcompared.DroppedBreaker},
}

const otherError = "other"

// reasonName names an error for the report.
func reasonName(err error) string {
	for _, kind := range errorKinds {
		if errors.Is(err, kind.err) {
			return kind.name
		}
	}
	return otherError
}

// outageOf returns the reason why a store did not answer; "" if it did. An ended context
// and an open breaker outrank the error that wraps them.
func outageOf(err error) (reason report.Reason) {
	for _, kind := range errorKinds {
		if kind.outage == "" || !errors.Is(err, kind.err) {
			continue
		}
		switch kind.outage {
		case notcompared.ShadowTimeout, notcompared.DroppedBreaker, notcompared.ShadowPanic:
			return kind.outage
		}
		if reason == "" {
			reason = kind.outage
		}
	}
	return reason
}

// servingFailure returns why a call of the serving path is not compared; "" for a success
// and for a refusal, which is an error of fn's own.
func servingFailure(err, own error) report.Reason {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, rmw.ErrOutcomeUnknown):
		return notcompared.PrimaryIndeterminate
	case own == nil || outageOf(own) != "" || !passesOn(err, own):
		return notcompared.PrimaryFailed // an outage that fn met is no refusal
	}
	return ""
}

// passesOn reports whether a path returned fn's own error. errors.Is panics on an error
// with fields that have no ==, so passesOn recognises such an error by its type.
func passesOn(err, own error) bool {
	if reflect.ValueOf(own).Comparable() {
		return errors.Is(err, own)
	}
	return errors.As(err, reflect.New(reflect.TypeOf(own)).Interface())
}

// codeOf returns the stable name of a refusal: its Code, if it has one.
func codeOf(err error) string {
	if coded, ok := errors.AsType[interface {
		error
		Code() string
	}](err); ok {
		return coded.Code()
	}
	return "refused"
}
