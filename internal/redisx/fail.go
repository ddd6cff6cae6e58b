package redisx

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// Fail dresses an error of a path's own for its caller, as an *rmw.Error. An err
// that does not name a reason itself is judged as of a command that did not run,
// or only read.
func Fail(path, op string, key rmw.Key, attempts int, err error) error {
	e := &rmw.Error{Path: path, Op: op, Key: key.Name, Attempts: attempts}
	var own *rmw.Error
	switch {
	case errors.As(err, &own):
		e.Reason, e.Cause = own.Reason, WithoutArguments(own.Cause)
	case errors.Is(err, rmw.ErrInvalid), errors.Is(err, rmw.ErrWrongKind), errors.Is(err, rmw.ErrClosed),
		errors.Is(err, rmw.ErrContended), errors.Is(err, rmw.ErrLockLost), errors.Is(err, rmw.ErrUnsupported):
		e.Reason = err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		e.Cause = err
	default:
		e.Reason, e.Cause = Reason(err), WithoutArguments(err)
	}
	return e
}

// Because gives err a reason, for Fail.
func Because(reason, err error) error { return &rmw.Error{Reason: reason, Cause: err} }

// Blame keeps an error of go-redis from passing for the end of ctx: net calls a
// dial that took longer than its own limit a context.DeadlineExceeded as well.
// Unless ctx has ended, such an error becomes an rmw.ErrUnavailable that is no
// context's.
func Blame(ctx context.Context, err error) error {
	var own *rmw.Error
	switch {
	case !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded),
		errors.As(err, &own), ended(ctx):
		return err
	}
	return Because(rmw.ErrUnavailable, ownLimit{err})
}

// ended also knows of a deadline that has passed a moment before ctx notices.
func ended(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && !time.Now().Before(deadline)
}

// ownLimit shows its error to errors.As only.
type ownLimit struct{ error }

func (l ownLimit) As(target any) bool { return errors.As(l.error, target) }

// WithoutArguments keeps stored values and passwords out of logs: a server that does
// not know a command quotes the beginning of its arguments, and a client that cannot
// make sense of a reply quotes that. Fail does it for errors that are returned.
func WithoutArguments(err error) error {
	if err == nil {
		return nil
	}
	text := withoutQuotes(err.Error())
	if text == err.Error() {
		return err
	}
	return &shortened{err, text}
}

// quotes are what precedes a quotation: of a server, and of go-redis' reader
// (internal/proto/reader.go), which goes on in a value if replies get out of step.
var quotes = []string{
	", with args beginning with",
	"redis: can't parse", "redis: invalid reply", "redis: can't read raw reply", "bigInt(",
	"strconv.ParseInt: parsing", "strconv.ParseUint: parsing", "strconv.ParseFloat: parsing", "strconv.Atoi: parsing",
}

func withoutQuotes(text string) string {
	for i, quote := range quotes {
		before, _, quoted := strings.Cut(text, quote)
		switch {
		case quoted && i == 0:
			text = before
		case quoted:
			text = before + strings.TrimRight(quote, "(") + " (not shown)"
		}
	}
	return text
}

// shortened is an error with less text. errors.Is and errors.As see all of it. It is a
// pointer, which %#v of what holds it does not follow.
type shortened struct {
	err  error
	text string
}

func (s *shortened) Error() string        { return s.text }
func (s *shortened) GoString() string     { return strconv.Quote(s.text) }
func (s *shortened) Is(target error) bool { return errors.Is(s.err, target) }
func (s *shortened) As(target any) bool   { return errors.As(s.err, target) }
