package rmw_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
)

// reasons are all reasons, the texts that users search for, and whether the same Update may be sent again.
var reasons = []struct {
	reason    error
	text      string
	retryable bool
}{
	{rmw.ErrContended, "contended: other writers kept the key busy", true},
	{rmw.ErrLockLost, "lock lost: the lease ended before the update did", true},
	{rmw.ErrUnavailable, "store unavailable", true},
	{rmw.ErrOutcomeUnknown, "outcome unknown: the write was sent but its answer was lost", false},
	{rmw.ErrWrongKind, "wrong kind of value", false},
	{rmw.ErrUnsupported, "unsupported by this server or proxy", false},
	{rmw.ErrInvalid, "invalid argument", false},
	{rmw.ErrClosed, "store closed", false},
}

func TestErrorTextOmitsUnsetFields(t *testing.T) {
	noName := fmt.Errorf("%w: name the key", rmw.ErrInvalid)
	for want, e := range map[string]rmw.Error{
		`cas: read "k": EOF`:                              {Path: "cas", Op: "read", Key: "k", Cause: io.EOF},
		`cas: read "k": store unavailable`:                {Path: "cas", Op: "read", Key: "k", Reason: rmw.ErrUnavailable},
		`cas: exec "k": store unavailable: EOF`:           {Path: "cas", Op: "exec", Key: "k", Reason: rmw.ErrUnavailable, Cause: io.EOF},
		`cas: exec "k" (attempt 2)`:                       {Path: "cas", Op: "exec", Key: "k", Attempts: 2},
		`lockupdate: acquire "k": context canceled`:       {Path: "lockupdate", Op: "acquire", Key: "k", Cause: context.Canceled},
		`memory: read "": invalid argument: name the key`: {Path: "memory", Op: "read", Reason: noName},
	} {
		assert.EqualError(t, &e, want)
	}
}

func TestErrorIsItsReasonAndItsCause(t *testing.T) {
	cause := &rmw.Error{Path: "inner", Cause: io.ErrUnexpectedEOF}
	err := fmt.Errorf("service: %w", &rmw.Error{Path: "cas", Reason: rmw.ErrUnavailable, Cause: cause})
	require.ErrorIs(t, err, rmw.ErrUnavailable)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.NotErrorIs(t, err, rmw.ErrContended)
	var e *rmw.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, "cas", e.Path, "the outermost comes first")

	assert.Equal(t, []error{rmw.ErrClosed, io.EOF}, (&rmw.Error{Reason: rmw.ErrClosed, Cause: io.EOF}).Unwrap())
	assert.Equal(t, []error{io.EOF}, (&rmw.Error{Cause: io.EOF}).Unwrap())
	assert.Empty(t, (&rmw.Error{}).Unwrap(), "errors.Is must meet no nil")
}

func TestEveryReasonHasTextAndRetryability(t *testing.T) {
	for _, r := range reasons {
		assert.EqualError(t, r.reason, r.text)
		forms := []error{
			r.reason,
			fmt.Errorf("wrapped: %w", r.reason),
			errors.Join(io.EOF, r.reason),
			&rmw.Error{Reason: r.reason},
			&rmw.Error{Reason: r.reason, Cause: io.EOF},
			fmt.Errorf("service: %w", &rmw.Error{Reason: fmt.Errorf("%w: 100 conflicts", r.reason)}),
		}
		for _, err := range forms {
			assert.Equal(t, r.retryable, rmw.Retryable(err), "%v", err)
		}
		for _, ended := range []error{context.Canceled, context.DeadlineExceeded} {
			assert.False(t, rmw.Retryable(&rmw.Error{Reason: r.reason, Cause: ended}), "%v once the ctx has ended", r.reason)
		}
		assert.False(t, rmw.Retryable(&rmw.Error{Reason: r.reason, Cause: rmw.ErrOutcomeUnknown}), "what may have been written")
	}
	for _, err := range []error{nil, io.EOF, errFull, context.Canceled, context.DeadlineExceeded, rmw.Keep, rmw.Remove} {
		assert.False(t, rmw.Retryable(err), "%v", err)
	}
}

// assertOneShortLine holds for every text that names a key.
func assertOneShortLine(t *testing.T, text string) {
	t.Helper()
	const most = 1024 // 128 bytes, each at worst \U0010ffff for its four, and what surrounds them
	if len(text) > most {
		t.Errorf("%d bytes, want at most %d: %.200s", len(text), most, text)
	}
	for _, r := range text {
		if !unicode.IsPrint(r) {
			t.Errorf("%U is not printable: %.200s", r, text)
			return
		}
	}
}

func keyTexts(name string) []string {
	typed := rmw.NewTyped(failing{}, rmw.JSON[int]())
	_, _, decode := typed.Get(context.Background(), rmw.Key{Name: name})
	return []string{
		(&rmw.Error{Path: "cas", Op: "exec", Key: name, Attempts: 2, Reason: rmw.ErrContended, Cause: io.EOF}).Error(),
		decode.Error(),
	}
}

// failing holds what is no number under every key.
type failing struct{ rmw.Store }

func (failing) Read(context.Context, rmw.Key) (rmw.Value, error) { return rmw.String("x"), nil }

// An error about any key is one short line.
func FuzzKeyError(f *testing.F) {
	for _, name := range []string{
		"", "room:7", "\r\n-ERR forged\r\n", "\x00\x1b[31mred", "quote \" and \\", "\xff\xfe", "\u2028\u2029\u0085\u202e",
		strings.Repeat("x", 64<<10), strings.Repeat("\x00", 128), strings.Repeat("日", 64<<10), strings.Repeat("\U0010fffe", 64<<10),
	} {
		f.Add(name)
	}
	long := keyTexts(strings.Repeat("k", 64<<10))[0]
	assert.Contains(f, long, strings.Repeat("k", 128)+`"… (65536 bytes)`, "the beginning and the size identify the key")
	f.Fuzz(func(t *testing.T, name string) {
		for _, text := range keyTexts(name) {
			assertOneShortLine(t, text)
		}
	})
}
