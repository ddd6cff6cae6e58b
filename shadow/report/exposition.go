package report

import (
	"strconv"
	"strings"
	"time"
	"unicode"
)

// family is all series of a metric, in the text format of Prometheus, version 0.0.4.
type family struct {
	metric
	series []*series
	known  map[string]*series // by their labels
}

type series struct {
	labels  string // without the braces
	value   float64
	latency Latency // of a histogram
}

// of finds the series with these labels. There may be one already: names that differ in
// what no label can hold are the same here, and a scraper refuses all if one is there twice.
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

// add counts n more. To add 0 makes the series be there: Prometheus sees no increase in one
// that begins with its first event.
func (f *family) add(n int64, values ...string) {
	s, _ := f.of(values)
	s.value += float64(n)
}

// least keeps the smaller of what is said of the same.
func (f *family) least(value float64, values ...string) {
	if s, isNew := f.of(values); isNew || value < s.value {
		s.value = value
	}
}

// at tells a time, if there is one.
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
	s.latency = s.latency.Clone() // it is the report's
	s.latency.Add(l)
}

func indicator(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// write leaves out what is empty.
func (f *family) write(out *strings.Builder) {
	if len(f.series) == 0 {
		return
	}
	out.WriteString("# HELP " + f.name + " " + f.help + "\n# TYPE " + f.name + " " + f.kind + "\n")
	for _, s := range f.series {
		if f.kind == histogram {
			s.distribution(out, f.name)
		} else {
			sample(out, f.name, s.value, s.labels)
		}
	}
}

// bounds are those of the buckets of all histograms: fixed, so that those of a fleet, and
// of two builds, add up.
func bounds() []time.Duration {
	const us, ms = time.Microsecond, time.Millisecond
	return []time.Duration{
		250 * us, 500 * us, ms, 2500 * us, 5 * ms, 10 * ms, 25 * ms, 50 * ms, 100 * ms, 250 * ms, 500 * ms,
		time.Second, 2500 * ms, 5 * time.Second, 10 * time.Second,
	}
}

// distribution writes a histogram.
func (s *series) distribution(out *strings.Builder, name string) {
	within, count, sum := s.latency.within(bounds())
	prefix := s.labels
	if prefix != "" {
		prefix += ","
	}
	for i, bound := range bounds() {
		sample(out, name+"_bucket", float64(within[i]), prefix+`le="`+number(bound.Seconds())+`"`)
	}
	sample(out, name+"_bucket", float64(count), prefix+`le="+Inf"`)
	sample(out, name+"_sum", sum, s.labels)
	sample(out, name+"_count", float64(count), s.labels)
}

func sample(out *strings.Builder, name string, value float64, labels string) {
	out.WriteString(name)
	if labels != "" {
		out.WriteString("{" + labels + "}")
	}
	out.WriteString(" " + number(value) + "\n")
}

// number keeps counts readable as such: no exponent.
func number(value float64) string { return strconv.FormatFloat(value, 'f', -1, 64) }

// escaped makes a label's value of any name. The format has escapes for three characters
// and takes the rest as UTF-8; a NUL ends the text for some scrapers, and other control
// characters are for a terminal that shows it.
func escaped(value string) string {
	value = strings.Map(func(c rune) rune { // what is no UTF-8 comes as U+FFFD
		if c != '\n' && unicode.IsControl(c) {
			return unicode.ReplacementChar
		}
		return c
	}, value)
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(value)
}
