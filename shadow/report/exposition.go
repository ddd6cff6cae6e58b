package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// family is a metric in the text format of Prometheus, version 0.0.4, with all its series.
type family struct {
	metric
	series []*series
	known  map[string]*series // by labels
}

type series struct {
	labels  string // without the braces
	value   float64
	latency Latency // of a histogram
}

// of returns the series with these label values, made if it is new. Names that differ only in
// characters that no label can hold have the same series: a scraper refuses duplicates.
func (f *family) of(values []string) (s *series, isNew bool) {
	var labels []string
	for i, name := range strings.Fields(f.labels) {
		labels = append(labels, name+`="`+escaped(values[i])+`"`)
	}
	key := strings.Join(labels, ",")
	s, ok := f.known[key]
	if !ok {
		s = &series{labels: key}
		f.known[key] = s
		f.series = append(f.series, s)
	}
	return s, !ok
}

// add increases a series by n. A series must exist before its first event: Prometheus sees
// no increase in a series that begins with 1.
func (f *family) add(n int64, values ...string) {
	s, _ := f.of(values)
	s.value += float64(n)
}

// least sets a series, to the smallest value if there are several.
func (f *family) least(value float64, values ...string) {
	if s, isNew := f.of(values); isNew || value < s.value {
		s.value = value
	}
}

// flag sets a series to 1 or 0.
func (f *family) flag(is bool, values ...string) {
	if is {
		f.least(1, values...)
	} else {
		f.least(0, values...)
	}
}

// at sets a series to a time, unless the time is zero.
func (f *family) at(at time.Time, values ...string) {
	if !at.IsZero() {
		f.least(float64(at.UnixMilli())/1000, values...)
	}
}

func (f *family) observe(l Latency, values ...string) {
	if l.Count() == 0 {
		return
	}
	s, isNew := f.of(values)
	if isNew {
		s.latency = l
		return
	}
	s.latency = s.latency.Clone() // the report keeps its own
	s.latency.Add(l)
}

// write writes nothing for a family without series.
func (f *family) write(out *strings.Builder) {
	if len(f.series) == 0 {
		return
	}
	fmt.Fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", f.name, f.help, f.name, f.kind)
	for _, s := range f.series {
		if f.kind != histogram {
			sample(out, f.name, s.value, s.labels)
			continue
		}
		within, count, sum := s.latency.within(bounds())
		prefix := s.labels
		if prefix != "" {
			prefix += ","
		}
		for i, bound := range bounds() {
			sample(out, f.name+"_bucket", float64(within[i]), prefix+`le="`+number(bound.Seconds())+`"`)
		}
		sample(out, f.name+"_bucket", float64(count), prefix+`le="+Inf"`)
		sample(out, f.name+"_sum", sum, s.labels)
		sample(out, f.name+"_count", float64(count), s.labels)
	}
}

// bounds are the buckets of all histograms. They are fixed, so that histograms of a fleet, and of
// two builds, add up.
func bounds() []time.Duration {
	const us, ms = time.Microsecond, time.Millisecond
	return []time.Duration{
		250 * us, 500 * us, ms, 2500 * us, 5 * ms, 10 * ms, 25 * ms, 50 * ms, 100 * ms, 250 * ms, 500 * ms,
		time.Second, 2500 * ms, 5 * time.Second, 10 * time.Second,
	}
}

func sample(out *strings.Builder, name string, value float64, labels string) {
	if labels != "" {
		labels = "{" + labels + "}"
	}
	out.WriteString(name + labels + " " + number(value) + "\n")
}

// number writes counts without an exponent.
func number(value float64) string { return strconv.FormatFloat(value, 'f', -1, 64) }

// escaped returns a label value. The format escapes three characters and takes any other UTF-8.
// Some scrapers end the text at a NUL, and terminals act on control characters: both are replaced.
func escaped(value string) string {
	value = strings.Map(func(c rune) rune { // invalid UTF-8 becomes U+FFFD
		if c != '\n' && unicode.IsControl(c) {
			return unicode.ReplacementChar
		}
		return c
	}, value)
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(value)
}
