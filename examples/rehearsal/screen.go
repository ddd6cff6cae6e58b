package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// width is the maximal line length in columns.
const width = 80

// screen writes to a terminal or another output.
type screen struct {
	out    io.Writer
	live   bool // a terminal, with a progress line
	colour bool

	mu       sync.Mutex
	progress bool // the last line is a progress line
}

func newScreen(out io.Writer) *screen {
	s := &screen{out: out}
	if f, ok := out.(*os.File); ok && os.Getenv("TERM") != "dumb" {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			s.live, s.colour = true, os.Getenv("NO_COLOR") == ""
		}
	}
	return s
}

// style is a terminal style.
type style string

const (
	normal style = ""
	bold   style = "1"
	dim    style = "2"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
)

func (s *screen) paint(as style, text string) string {
	if as == normal || !s.colour || text == "" {
		return text
	}
	return "\x1b[" + string(as) + "m" + text + "\x1b[0m"
}

// line writes one line unchanged.
func (s *screen) line(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	fmt.Fprintln(s.out, strings.TrimRight(text, " ")) //nolint:errcheck // a closed screen is no failure of the run
}

// say writes a text in lines that begin at a column.
func (s *screen) say(column int, as style, format string, args ...any) {
	for _, line := range wrap(fmt.Sprintf(format, args...), width-column) {
		s.line(strings.Repeat(" ", column) + s.paint(as, line))
	}
}

// item writes a label and a text beside it.
func (s *screen) item(label string, as style, format string, args ...any) {
	const column = 19
	for i, line := range wrap(fmt.Sprintf(format, args...), width-column) {
		if i > 0 {
			label = ""
		}
		s.line(fmt.Sprintf("   %s%s", fit(label, column-3), s.paint(as, line)))
	}
}

// title writes the title of an act.
func (s *screen) title(letter, text string) {
	s.line("")
	s.line(s.paint(bold, fmt.Sprintf("%s  %s", letter, text)))
}

// rule writes a separator with a text.
func (s *screen) rule(text string) {
	s.line("")
	s.line(s.paint(bold, "── "+text+" "+strings.Repeat("─", max(width-4-utf8.RuneCountInString(text), 0))))
}

// watch shows a progress line until stop is called. It calls tick periodically, even without
// a terminal.
func (s *screen) watch(what string, total int, done func() int64, tick func()) (stop func()) {
	quit, gone := make(chan struct{}), make(chan struct{})
	began := time.Now()
	go func() {
		defer close(gone)
		ticker := time.NewTicker(100 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-quit:
				return
			case <-ticker.C:
				tick()
				s.show(what, int(done()), total, time.Since(began))
			}
		}
	}()
	return func() {
		close(quit)
		<-gone
		s.mu.Lock()
		defer s.mu.Unlock()
		s.erase()
	}
}

func (s *screen) show(what string, done, total int, took time.Duration) {
	if !s.live {
		return
	}
	const cells = 24
	full := cells * done / max(total, 1)
	bar := strings.Repeat("█", full) + strings.Repeat("░", cells-full)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	fmt.Fprintf(s.out, "   %s%s %s of %s  %.1f s", //nolint:errcheck // see line
		fit(what, 18), bar, count(done), count(total), took.Seconds())
	s.progress = true
}

// erase removes the progress line. s.mu is held.
func (s *screen) erase() {
	if s.progress {
		fmt.Fprint(s.out, "\r\x1b[K") //nolint:errcheck // see line
		s.progress = false
	}
}

// fit pads or cuts a text to n columns.
func fit(text string, n int) string {
	r := []rune(text)
	if len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return text + strings.Repeat(" ", n-len(r))
}

// count writes a number with separators: 24,000.
func count(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// wrap breaks a text at spaces, and breaks words that are longer than a line. It keeps line
// breaks of the text.
func wrap(text string, columns int) []string {
	var out []string
	for part := range strings.SplitSeq(text, "\n") {
		if utf8.RuneCountInString(part) <= columns {
			out = append(out, part) // keep aligned columns
			continue
		}
		line := ""
		for word := range strings.FieldsSeq(part) {
			for utf8.RuneCountInString(word) > columns {
				if line != "" {
					out, line = append(out, line), ""
				}
				r := []rune(word)
				out, word = append(out, string(r[:columns])), string(r[columns:])
			}
			switch {
			case line == "":
				line = word
			case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= columns:
				line += " " + word
			default:
				out, line = append(out, line), word
			}
		}
		out = append(out, line)
	}
	return out
}
