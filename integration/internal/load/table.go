package load

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/unwatch/unwatch/internal/wrap"
)

// Report is the result of a run.
type Report struct {
	Config
	*Measured
	Rows []Row
}

// Bad reports whether a promise was broken.
func (r *Report) Bad() bool {
	return slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Broken })
}

// Table writes the results, in lines of at most 80 columns.
func (r *Report) Table(w io.Writer) error {
	out := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }
	out("%s: %d keys, %d goroutines, %d connections, %v\n", r.Topology, r.Keys, r.Goroutines, r.Pool, r.Duration)
	out("%-10s %12s %9s %9s %9s %9s %9s", "keys", "updates", "a second", "p50", "p99", "p99.9", "longest")
	for p := range ending {
		share := []time.Duration{even: 4, skewed: 4, hot: 2}[p]
		one := r.Waits[p]
		each := float64(one.N) / (r.Duration * share / 10).Seconds()
		out("%-10s %12s %9s %9s %9s %9s %9s", p, wrap.Grouped(one.N), wrap.Grouped(int64(each)),
			milli(one.P50), milli(one.P99), milli(one.P999), milli(one.Longest))
	}
	out("")
	for _, row := range r.Rows {
		word := "ok"
		switch {
		case row.Broken:
			word = "BROKEN"
		case row.Bound == "":
			word = ""
		}
		out("%s", strings.TrimRight(fmt.Sprintf("%-40s %20s  %9s  %s", row.What, row.Measured, row.Bound, word), " "))
	}
	if text := r.Tally.Example; text != "" {
		out("\na failure: %s", text)
	}
	for i, lock := range r.Ending.Locks {
		if i == 5 {
			break
		}
		out("left: %s", lock)
	}
	for _, text := range r.Ending.Errors {
		out("Close: %s", text)
	}
	return nil
}

func megabytes(n uint64) string { return fmt.Sprintf("%.1f MB", float64(n)/(1<<20)) }

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

func milli(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}
