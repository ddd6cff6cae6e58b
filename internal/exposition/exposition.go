// Package exposition writes metrics in the text format of Prometheus, version 0.0.4.
package exposition

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/unwatch/unwatch/internal/wrap"
)

// Type is the Content-Type of the format.
const Type = "text/plain; version=0.0.4; charset=utf-8"

// The kinds of a Family.
const (
	Counter   = "counter"
	Gauge     = "gauge"
	Histogram = "histogram"
)

// Family is a metric with all its series, in the order in which they were made. Each method takes the values of
// Labels. It is not safe for concurrent use.
type Family struct {
	Name, Kind, Help string
	Labels           string    // names, with blanks
	Bounds           []float64 // of a Histogram, rising

	series []*series
	known  map[string]*series // by labels
}

type series struct {
	labels string // without the braces
	value  float64
	within []int64 // of a Histogram: observations up to each bound
	count  int64
}

// of returns the series with these label values, made if it is new. Names that differ only in
// characters that no label can hold have the same series: a scraper refuses duplicates.
func (f *Family) of(values []string) (s *series, isNew bool) {
	var labels []string
	for i, name := range strings.Fields(f.Labels) {
		labels = append(labels, name+`="`+escaped(values[i])+`"`)
	}
	key := strings.Join(labels, ",")
	if s, ok := f.known[key]; ok {
		return s, false
	}
	if f.known == nil {
		f.known = map[string]*series{}
	}
	s = &series{labels: key, within: make([]int64, len(f.Bounds))}
	f.known[key] = s
	f.series = append(f.series, s)
	return s, true
}

// Add increases a series by n. A series must exist before its first event: Prometheus sees
// no increase in a series that begins with 1.
func (f *Family) Add(n int64, values ...string) {
	s, _ := f.of(values)
	s.value += float64(n)
}

// Least sets a series, to the smallest value if there are several.
func (f *Family) Least(value float64, values ...string) {
	if s, isNew := f.of(values); isNew || value < s.value {
		s.value = value
	}
}

// Flag sets a series to 1 or 0.
func (f *Family) Flag(is bool, values ...string) {
	f.Least(map[bool]float64{true: 1}[is], values...)
}

// At sets a series to a time, unless the time is zero.
func (f *Family) At(at time.Time, values ...string) {
	if !at.IsZero() {
		f.Least(float64(at.UnixMilli())/1000, values...)
	}
}

// Observe adds an observation to a series of a Histogram.
func (f *Family) Observe(value float64, values ...string) {
	within := make([]int64, len(f.Bounds))
	for i := range within {
		if value <= f.Bounds[i] {
			within[i] = 1
		}
	}
	f.Merge(within, 1, value, values...)
}

// Merge adds observations to a series of a Histogram: how many are up to each bound, their number and sum.
func (f *Family) Merge(within []int64, count int64, sum float64, values ...string) {
	s, _ := f.of(values)
	for i, n := range within {
		s.within[i] += n
	}
	s.count += count
	s.value += sum
}

// Write writes the families that have series.
func Write(w io.Writer, families ...*Family) error {
	var out strings.Builder
	for _, f := range slices.DeleteFunc(families, func(f *Family) bool { return len(f.series) == 0 }) {
		fmt.Fprintf(&out, "# HELP %s %s\n# TYPE %s %s\n", f.Name, f.Help, f.Name, f.Kind)
		for _, s := range f.series {
			if f.Kind != Histogram {
				sample(&out, f.Name, s.value, s.labels)
				continue
			}
			prefix := s.labels
			if prefix != "" {
				prefix += ","
			}
			for i, bound := range f.Bounds {
				sample(&out, f.Name+"_bucket", float64(s.within[i]), prefix+`le="`+number(bound)+`"`)
			}
			sample(&out, f.Name+"_bucket", float64(s.count), prefix+`le="+Inf"`)
			sample(&out, f.Name+"_sum", s.value, s.labels)
			sample(&out, f.Name+"_count", float64(s.count), s.labels)
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func sample(out *strings.Builder, name string, value float64, labels string) {
	if labels != "" {
		labels = "{" + labels + "}"
	}
	out.WriteString(name + labels + " " + number(value) + "\n")
}

// number writes counts without an exponent.
func number(value float64) string { return strconv.FormatFloat(value, 'f', -1, 64) }

// longest is the number of characters of a label value.
const longest = 200

// escaped returns a label value. The format escapes three characters and takes any other UTF-8.
// Some scrapers end the text at a NUL, and terminals act on control characters and direction
// marks: U+FFFD replaces them. A long value loses its middle.
func escaped(value string) string {
	value = strings.Map(func(c rune) rune { // invalid UTF-8 becomes U+FFFD
		if c != '\n' && !unicode.IsGraphic(c) {
			return unicode.ReplacementChar
		}
		return c
	}, wrap.Shorten(value, longest))
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(value)
}
