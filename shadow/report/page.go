package report

import (
	_ "embed" // the template
	"fmt"
	"html/template"
	"io"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/unwatch/unwatch/internal/htmlpage"
	"github.com/unwatch/unwatch/internal/wrap"
)

//go:embed page.tmpl
var pageTemplate string

// WriteHTML writes the Report, judged by p, as one self-contained HTML page: it has no script, and
// loads no style sheet, font or image. It can be mailed and printed. [Handler] serves the same page.
func (r *Report) WriteHTML(w io.Writer, p Policy) error { return newPage(r, p).write(w) }

// page is the data of page.tmpl. html/template escapes each text by its context.
type page struct {
	*Report
	Policy  Policy
	Verdict Verdict
	Totals  tallies
	Served  bool // not a file: the page may link to other formats
	Live    int  // seconds between two loads of a served page; 0 for none
}

func newPage(r *Report, p Policy) *page {
	return &page{Report: r, Policy: r.under(p).withDefaults(), Verdict: r.Judge(p), Totals: r.totals()}
}

// write renders the whole page before it writes, so that w never has half a page.
func (p *page) write(w io.Writer) error {
	return htmlpage.Render(w, "page", pageTemplate, template.FuncMap{
		"share":     func(s float64) string { return pagePercent(100 * s) },
		"grouped":   func(n any) string { return wrap.Grouped(reflect.ValueOf(n).Int()) },
		"counted":   func(n any, noun string) string { return wrap.Counted(reflect.ValueOf(n).Int(), noun) },
		"operation": operationName, "comparator": pageComparator, "time": wrap.Time, "known": pageOr,
		"differs": pageDiffers, "leftOut": htmlpage.LeftOut,
	}, p)
}

// The template calls the methods below.

func (*page) Ready() State { return Ready }

// Now describes the mode in effect.
func (p *page) Now() string {
	text, known := map[string]string{
		"": "Mode unknown", "off": "Off: nothing is compared", "shadow": "Shadow: the legacy path serves",
		mixed: "Mixed: the processes do not agree",
	}[p.Mode]
	if !known {
		text = p.Mode
	}
	if p.Mode != mixed { // the processes have different shares
		text += ", " + pagePercent(p.Percent) + " of the keys"
	}
	return text
}

func (p *page) Headline() string { return pageHeadline(p.Verdict.Cause) }

// pageHeadline begins a sentence with a capital letter, but keeps the name of an operation.
func pageHeadline(cause string) string {
	if word, _, _ := strings.Cut(cause, " "); word == "" || strings.ContainsAny(word, "/._") {
		return cause
	}
	first, size := utf8.DecodeRuneInString(cause)
	return string(unicode.ToUpper(first)) + cause[size:]
}

// pageGates lists gates of a state.
type pageGates struct {
	State State
	Title string
	Gates []Gate
}

// Closed lists a readable number of closed gates: a fleet has hundreds while it warms up.
func (p *page) Closed() []pageGates {
	const most = 16
	blocked, missing := p.Verdict.in(NotReady), p.Verdict.in(NotEnoughData)
	blocked = blocked[:min(len(blocked), most)]
	return []pageGates{
		{NotReady, "What blocks", blocked},
		{NotEnoughData, "What is missing", missing[:min(len(missing), max(most-len(blocked), 6))]},
	}
}

func (p *page) MoreClosed() string {
	closed := len(p.Verdict.Gates) - len(p.Verdict.in(Ready))
	return htmlpage.LeftOut(closed, len(p.Closed()[0].Gates)+len(p.Closed()[1].Gates), "gate")
}

// Passed lists the names of the open gates.
func (p *page) Passed() string {
	passed, counts := p.Verdict.in(Ready), map[string]int{}
	var names []string
	for _, g := range passed {
		if counts[g.Name]++; counts[g.Name] == 1 {
			names = append(names, g.Name)
		}
	}
	for i, name := range names {
		if counts[name] > 1 {
			names[i] = fmt.Sprintf("%s × %d", name, counts[name])
		}
	}
	return fmt.Sprintf("%s passed: %s", wrap.Counted(len(passed), "gate"), strings.Join(names, ", "))
}

// pageTile summarises a section by a number.
type pageTile struct {
	Label, Value, Sub string
	Mark              State
}

func (p *page) Tiles() []pageTile {
	var blocking, compared, missing, excused int64
	for _, c := range Comparators() {
		t := p.Totals[c]
		more, said := t.missed()
		compared, missing, excused = compared+t.Compared, missing+more, excused+said
		blocking += blocked(t.Classes)
	}
	missed := wrap.Counted(missing, "comparison") + " missed"
	if excused > 0 {
		missed += ", " + wrap.Grouped(excused) + " excused"
	}
	latency := pageTile{"p99, candidate", wrap.None, "nothing measured yet", ""}
	if legacy, candidate := p.latencies(); candidate.Count() > 0 {
		latency.Value, latency.Sub = wrap.Duration(candidate.Quantile(0.99)), "legacy "+wrap.Duration(legacy.Quantile(0.99))
	}
	return []pageTile{
		{"Differences that block", wrap.Grouped(blocking), "in " + wrap.Counted(compared, "comparison"),
			pageMark(blocking == 0, compared > 0)},
		{"Calls compared", wrap.Grouped(p.Totals[Seeded].Compared),
			"with the same input, in " + wrap.Counted(len(p.Operations), "operation"), ""},
		{"Not compared", wrap.Share(missing, compared+missing), missed, ""},
		latency,
	}
}

// pageMark marks a number as good or bad, if it has enough data.
func pageMark(good, enough bool) State {
	switch {
	case !enough:
		return ""
	case good:
		return Ready
	default:
		return NotReady
	}
}

func badIf(is bool) State { return pageMark(false, is) }

// latencies adds up all operations.
func (r *Report) latencies() (legacy, candidate Latency) {
	for _, o := range r.Operations {
		legacy.Add(o.Legacy)
		candidate.Add(o.Candidate)
	}
	return legacy, candidate
}

// Covers is the duration of the counts.
func (p *page) Covers() string {
	if d := p.Taken.Sub(p.Started); d >= 1e9 && !p.Started.IsZero() {
		return wrap.Duration(d.Truncate(1e9))
	}
	return "just started"
}
