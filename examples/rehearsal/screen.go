package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/unwatch/unwatch/internal/wrap"
)

// screen writes the results, and the progress until there are any.
type screen struct {
	out, progress io.Writer
	colour        bool // results go to a terminal
	live          bool // progress goes to a terminal, as one line that is erased
}

func newScreen(out, progress io.Writer) *screen {
	return &screen{out: out, progress: progress, colour: terminal(out) && os.Getenv("NO_COLOR") == "", live: terminal(progress)}
}

func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
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
	fmt.Fprintln(s.out, strings.TrimRight(text, " ")) //nolint:errcheck // a closed screen is no failure of the run
}

// say writes a text in lines that begin at a column.
func (s *screen) say(column int, as style, format string, args ...any) {
	s.text("", column, as, fmt.Sprintf(format, args...))
}

// item writes a label and a text beside it.
func (s *screen) item(label string, as style, format string, args ...any) {
	s.text("   "+label, 19, as, fmt.Sprintf(format, args...))
}

func (s *screen) text(label string, column int, as style, text string) {
	for line := range strings.Lines(wrap.Paragraph(wrap.Width-column, "", "", text)) {
		s.line(fmt.Sprintf("%-*s", column, label) + s.paint(as, strings.TrimSpace(line)))
		label = ""
	}
}

// title writes the title of a part.
func (s *screen) title(text string) {
	s.line("")
	s.line(s.paint(bold, text))
}

// watch shows the progress until stop is called, before which nothing else is written: on a terminal
// in one line, and otherwise in a plain line every second. It calls tick as often.
func (s *screen) watch(what string, total int, done func() int64, tick func()) (stop func()) {
	quit, gone := make(chan struct{}), make(chan struct{})
	began, pause, begin, end := time.Now(), time.Second, "", "\n"
	if s.live {
		pause, begin, end = 100*time.Millisecond, "\r\x1b[K", ""
	}
	go func() {
		defer close(gone)
		ticker := time.NewTicker(pause)
		defer ticker.Stop()
		for {
			select {
			case <-quit:
				fmt.Fprint(s.progress, begin) //nolint:errcheck // see line
				return
			case <-ticker.C:
				tick()
				n := int(done())
				full := 24 * n / max(total, 1)
				text := fmt.Sprintf("   %-18s%s%s %s of %s  %.1f s", what, strings.Repeat("█", full), strings.Repeat("░", 24-full),
					count(n), count(total), time.Since(began).Seconds())
				if n == total {
					text += "  comparing"
				}
				fmt.Fprint(s.progress, begin, text, end) //nolint:errcheck // see line
			}
		}
	}()
	return func() {
		close(quit)
		<-gone
	}
}

// count writes a number with separators: 24,000.
func count[N int | int64](n N) string { return wrap.Grouped(int64(n)) }
