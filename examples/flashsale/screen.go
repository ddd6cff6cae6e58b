package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/unwatch/unwatch/internal/wrap"
)

// width is how many columns every line fits into.
const width = 80

// screen writes to a terminal, or to whatever stdout is.
type screen struct {
	out    io.Writer
	colour bool
}

func newScreen(out io.Writer) screen {
	s := screen{out: out}
	if f, ok := out.(*os.File); ok && os.Getenv("TERM") != "dumb" && os.Getenv("NO_COLOR") == "" {
		info, err := f.Stat()
		s.colour = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return s
}

// style is how a text looks.
type style string

const (
	normal style = ""
	bold   style = "1"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
)

// text writes a paragraph; lead begins its first line, and those below are as far
// from the edge.
func (s screen) text(lead string, as style, format string, args ...any) {
	indent := strings.Repeat(" ", len(lead))
	for line := range strings.Lines(wrap.Paragraph(width, lead, indent, fmt.Sprintf(format, args...))) {
		head, rest := line[:len(lead)], strings.TrimRight(line[len(lead):], " \n")
		if s.colour && as != normal && rest != "" {
			rest = "\x1b[" + string(as) + "m" + rest + "\x1b[0m"
		}
		fmt.Fprintln(s.out, strings.TrimRight(head+rest, " ")) //nolint:errcheck // a screen that is gone is nobody's error
	}
}

// item writes a label and, beside it, a paragraph.
func (s screen) item(label string, as style, format string, args ...any) {
	s.text(fmt.Sprintf("   %-12s", label), as, format, args...)
}

// count writes a number with separators: 24,000.
func count(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
