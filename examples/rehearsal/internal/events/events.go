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

// Event is one event in a room.
type Event struct {
	At     string `json:"at,omitempty"` // time of day, informational
	Room   string `json:"room"`
	Op     string `json:"op"`
	Member string `json:"member"`
}

// String returns a short description for a terminal line.
func (e Event) String() string {
	return fmt.Sprintf("%s %s %s", shorten(e.Member), e.Op, shorten(e.Room))
}

// Ops returns the valid operations of an Event.
func Ops() []string { return []string{"join", "leave", "post", "react"} }

// maxName limits room and member names, which are sent several times per update.
const maxName = 128

// maxLine limits the memory for one line.
const maxLine = 64 << 10

// Error reports a line that is not a valid event.
type Error struct {
	File string
	Line int // from 1; 0: the whole file
	Err  error
}

// Error starts with file and line, like compiler errors, so that editors can jump there.
func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
}

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

// Read reads all events of r. file is the name for errors. It skips empty lines and ignores
// unknown fields. The error is an [*Error].
func Read(r io.Reader, file string) ([]Event, error) {
	var out []Event
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	n := 0
	for lines.Scan() {
		n++
		line := bytes.TrimSpace(lines.Bytes())
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff")) // a byte order mark of some editors
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

// shorten limits names of the event file for the screen.
func shorten(s string) string {
	const limit = 24
	if r := []rune(s); len(r) > limit {
		return string(r[:limit-1]) + "…"
	}
	return s
}
