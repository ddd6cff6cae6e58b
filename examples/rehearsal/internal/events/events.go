// Package events reads streams of chat room events: JSON lines, one event each.
//
//	{"room":"lobby","op":"join","member":"ann"}
package events

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Event is one thing that happened in a room.
type Event struct {
	At     string `json:"at,omitempty"` // time of day, for the reader only
	Room   string `json:"room"`
	Op     string `json:"op"`
	Member string `json:"member"`
}

// String says what happened, short enough for a line on a terminal.
func (e Event) String() string {
	return fmt.Sprintf("%s %s %s", shorten(e.Member), e.Op, shorten(e.Room))
}

// Ops are the operations that an Event may have.
func Ops() []string { return []string{"join", "leave", "post", "react"} }

// maxName is how long a room or a member may be called: both become parts of
// keys and values that travel several times for each update.
const maxName = 128

// maxLine bounds what one bad line can cost.
const maxLine = 64 << 10

// Error tells which line of which file is not an event, and why.
type Error struct {
	File string
	Line int // counted from 1; 0: the file as a whole
	Err  error
}

// Error begins as compilers begin theirs, so that editors can jump there.
func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
}

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

// Read reads all events of r. file is what errors call it. Empty lines are
// skipped, unknown fields ignored. The error is an [*Error].
func Read(r io.Reader, file string) ([]Event, error) {
	var out []Event
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	n := 0
	for lines.Scan() {
		n++
		line := bytes.TrimSpace(lines.Bytes())
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff")) // a byte order mark, which some editors leave
		}
		if len(line) == 0 {
			continue
		}
		e, err := parse(line)
		if err != nil {
			return nil, &Error{File: file, Line: n, Err: err}
		}
		out = append(out, e)
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, &Error{File: file, Line: n + 1, Err: fmt.Errorf("longer than %d bytes", maxLine)}
	case err != nil:
		return nil, &Error{File: file, Line: n + 1, Err: err}
	case len(out) == 0:
		return nil, &Error{File: file, Err: errors.New("no events in it")}
	}
	return out, nil
}

func parse(line []byte) (Event, error) {
	var e Event
	if line[0] != '{' {
		return e, fmt.Errorf("not a JSON object: %s", shorten(strconv.Quote(string(line))))
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return e, fmt.Errorf("not an event: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if !slices.Contains(Ops(), e.Op) {
		if e.Op == "" {
			return e, fmt.Errorf("no \"op\"; use one of %s", strings.Join(Ops(), ", "))
		}
		return e, fmt.Errorf("unknown op %s; use one of %s", shorten(strconv.Quote(e.Op)), strings.Join(Ops(), ", "))
	}
	if err := name("room", e.Room); err != nil {
		return e, err
	}
	return e, name("member", e.Member)
}

func name(field, value string) error {
	switch {
	case value == "":
		return fmt.Errorf("no %q", field)
	case len(value) > maxName:
		return fmt.Errorf("%q has %d bytes, at most %d", field, len(value), maxName)
	case strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }):
		return fmt.Errorf("%q has characters that cannot be printed: %q", field, value)
	}
	return nil
}

// shorten keeps what others wrote from filling the screen.
func shorten(s string) string {
	const limit = 24
	if r := []rune(s); len(r) > limit {
		return string(r[:limit-1]) + "…"
	}
	return s
}
