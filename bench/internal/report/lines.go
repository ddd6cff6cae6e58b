package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/unwatch/unwatch/bench/internal/result"
)

// Lines writes each slot as a line of the Go benchmark format, which benchstat reads. A slot that did not run has none.
func Lines(w io.Writer, f *result.Results) error {
	var b strings.Builder
	fmt.Fprintf(&b, "goos: %s\ngoarch: %s\ncpu: %s\n", f.Machine.OS, f.Machine.Arch, f.Machine.CPU)
	for i := range f.Slots {
		s := &f.Slots[i]
		if r := rowOf(s.Impl, []*result.Slot{s}); r.Rate.N > 0 {
			writeLine(&b, "Update", s.Scenario, s.Impl, s.Done(), columns(), &r)
		}
	}
	for i := range f.Holds {
		h := &f.Holds[i]
		if h.Crashed == "" {
			writeLine(&b, "Hold", h.Scenario, h.Impl, h.Worker.Renewals, holdColumns(), &HoldRow{h.Impl, h.Watch(), []*result.Hold{h}})
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeLine[R any](b *strings.Builder, name, scenario, impl string, n int64, columns []column[R], row *R) {
	fmt.Fprintf(b, "Benchmark%s/scenario=%s/impl=%s %d", name, scenario, impl, max(1, n))
	for _, c := range columns {
		if c.unit == "" {
			continue
		}
		if v := c.number(row) * cmp.Or(c.scale, 1); !math.IsNaN(v) && !math.IsInf(v, 0) {
			fmt.Fprintf(b, " %.6g %s", v, c.unit)
		}
	}
	b.WriteByte('\n')
}
