package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/unwatch/unwatch/internal/wrap"
)

// printf writes to a stream. A closed stream is no failure of the run.
func printf(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }

// line writes one line unchanged.
func (r *rehearsal) line(format string, args ...any) {
	printf(r.stdout, "%s\n", strings.TrimRight(fmt.Sprintf(format, args...), " "))
}

// say writes a text in lines that begin at a column.
func (r *rehearsal) say(column int, format string, args ...any) {
	r.text("", column, fmt.Sprintf(format, args...))
}

// item writes a label and a text beside it.
func (r *rehearsal) item(label, format string, args ...any) {
	r.text("   "+label, 19, fmt.Sprintf(format, args...))
}

func (r *rehearsal) text(label string, column int, text string) {
	for line := range strings.Lines(wrap.Paragraph(wrap.Width-column, "", "", text)) {
		r.line("%-*s%s", column, label, strings.TrimSpace(line))
		label = ""
	}
}

// title writes the title of a part.
func (r *rehearsal) title(text string) { r.line("\n%s", text) }

// watch shows the progress of a run on a terminal, in a line that stop erases.
func (r *rehearsal) watch(x *run) (stop func()) {
	if !r.live {
		return func() {}
	}
	quit, gone, began := make(chan struct{}), make(chan struct{}), time.Now()
	go func() {
		defer close(gone)
		ticker := time.NewTicker(100 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-quit:
				printf(r.stderr, "\r\x1b[K")
				return
			case <-ticker.C:
				printf(r.stderr, "\r\x1b[K   %s: %s of %s, %.1f s", x.name, count(x.done.Load()), count(len(x.stream)),
					time.Since(began).Seconds())
			}
		}
	}()
	return func() {
		close(quit)
		<-gone
	}
}

func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// count writes a number with separators: 24,000.
func count[N int | int64](n N) string { return wrap.Grouped(int64(n)) }
