package redisx

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync/atomic"

	"github.com/unwatch/unwatch/internal/resp"
	"github.com/unwatch/unwatch/rmw"
)

// Word is an argument that tells whether its command may have been sent. go-redis dials a connection and shakes
// hands before it writes the command, and returns the errors of all three alike. Only MarshalBinary gives the
// text of the Word, and go-redis calls that when it writes the command: before, no byte of it has been sent.
type Word struct {
	text    string
	bytes   []byte // the text; nil: made when it is needed
	shown   string
	written atomic.Bool
}

// Set gives the Word its text, and what tracing hooks show instead. bytes is the text, or nil. The Word
// counts as not written.
func (w *Word) Set(text string, bytes []byte, shown string) {
	w.text, w.bytes, w.shown = text, bytes, shown
	w.written.Store(false)
}

// MarshalBinary implements encoding.BinaryMarshaler, for go-redis.
func (w *Word) MarshalBinary() ([]byte, error) {
	w.written.Store(true)
	if w.bytes == nil {
		return []byte(w.text), nil
	}
	return w.bytes, nil
}

// String is for hooks that show a command. It is not the text: a hook that sends that elsewhere would go unnoticed.
func (w *Word) String() string { return w.shown }

// Peek returns the text for a check of the command, which sends nothing.
func (w *Word) Peek() string { return w.text }

// Unsent reports whether a command whose call has returned was certainly not sent. It is false if
// a hook has replaced the Word.
func (w *Word) Unsent(args []any) bool {
	if slices.Contains(args, any(w)) {
		return !w.written.Load()
	}
	return false
}

// ErrNotSent marks a command that was not sent.
var ErrNotSent = errors.New("not sent")

// NotSent adds ErrNotSent to the error of a command that was not sent, unless the error says that itself.
func NotSent(err error) error {
	if OutcomeOf(err) != Unknown {
		return err
	}
	return fmt.Errorf("%w: %w", ErrNotSent, err)
}

// Unreached reports whether err means that the command did not run because its connection was not established, or
// led to a server that cannot serve, so that a try on another connection may succeed.
func Unreached(err error) bool {
	var op *net.OpError
	m := MeaningOf(err)
	switch {
	case err == nil, errors.Is(err, rmw.ErrOutcomeUnknown), errors.Is(err, rmw.ErrUnsupported):
		return false
	case m.LeadsElsewhere(), m == resp.Full:
		return true
	case m != resp.Unclear && m != resp.Declined && m != resp.Lost:
		return false
	case errors.As(err, &op) && op.Op == "dial":
		return true
	case !errors.Is(err, ErrNotSent), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return false
	}
	var broken net.Error
	return m == resp.Lost || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe) ||
		errors.As(err, &broken)
}
