package redisx

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/unwatch/unwatch/internal/wrap"
	"github.com/unwatch/unwatch/rmw"
)

// Fail wraps an error of a path as an *rmw.Error. An error without a reason is classified as that of a
// command that did not run, or only read.
func Fail(path, op string, key rmw.Key, attempts int, err error) error {
	e := &rmw.Error{Path: path, Op: op, Key: key.Name, Attempts: attempts}
	var own *rmw.Error
	switch {
	case errors.As(err, &own):
		e.Reason, e.Cause = WithoutArguments(own.Reason), WithoutArguments(own.Cause)
	case errors.Is(err, rmw.ErrInvalid), errors.Is(err, rmw.ErrWrongKind), errors.Is(err, rmw.ErrClosed),
		errors.Is(err, rmw.ErrContended), errors.Is(err, rmw.ErrLockLost), errors.Is(err, rmw.ErrUnsupported):
		e.Reason = WithoutArguments(err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		e.Cause = err
	default:
		e.Reason, e.Cause = Reason(err), WithoutArguments(err)
	}
	return e
}

// Because gives err a reason, for Fail.
func Because(reason, err error) error { return &rmw.Error{Reason: reason, Cause: err} }

// Blame separates a timeout of go-redis from the end of ctx: net reports a dial that exceeded its own limit
// as context.DeadlineExceeded, too. Unless ctx has ended, Blame returns an rmw.ErrUnavailable that matches
// no error of a context.
func Blame(ctx context.Context, err error) error {
	var own *rmw.Error
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded) && !errors.As(err, &own) && ended(ctx):
		// With ContextTimeoutEnabled the connection has the deadline of ctx, and may notice it first.
		return fmt.Errorf("%w: %w", cmp.Or(EndOf(ctx), context.DeadlineExceeded), err)
	case !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded),
		errors.As(err, &own), ended(ctx):
		return err
	}
	return Because(rmw.ErrUnavailable, ownLimit{err})
}

// ended also detects a deadline that has passed a moment before ctx ends.
func ended(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && !time.Now().Before(deadline)
}

// ownLimit shows its error to errors.As only.
type ownLimit struct{ error }

func (l ownLimit) As(target any) bool { return errors.As(l.error, target) }

// WithoutArguments keeps stored values and passwords out of logs: a server quotes the first arguments of an
// unknown command, and a client quotes an unparsable reply. It also replaces what a terminal or a CI runner would
// interpret, such as escape sequences and direction marks, by "?". Fail does the same for returned errors.
func WithoutArguments(err error) error {
	if err == nil {
		return nil
	}
	text := wrap.Lines(withoutQuotes(err.Error()))
	if text == err.Error() {
		return err
	}
	return &shortened{err, text}
}

// quotes are the texts before a quotation: those of a server, and of go-redis' reader
// (internal/proto/reader.go), which parses a part of a value if replies get out of step.
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

// shortened is an error with a shorter text. errors.Is and errors.As see the whole error. It is a pointer,
// so that %#v of a wrapping value does not print its content.
type shortened struct {
	err  error
	text string
}

func (s *shortened) Error() string        { return s.text }
func (s *shortened) GoString() string     { return strconv.Quote(s.text) }
func (s *shortened) Is(target error) bool { return errors.Is(s.err, target) }
func (s *shortened) As(target any) bool   { return errors.As(s.err, target) }
