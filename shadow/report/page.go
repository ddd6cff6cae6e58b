package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the template and its style
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"
)

//go:embed page.tmpl
var pageTemplate string

//go:embed page.css
var pageStyle string

// WriteHTML writes the Report, judged by p, as one HTML page that needs nothing else: no
// script, no style sheet, no font and no image from elsewhere. It can be mailed, attached
// and printed. [Handler] serves the same page.
func (r *Report) WriteHTML(w io.Writer, p Policy) error { return newPage(r, p).write(w) }

// page is what page.tmpl shows: its fields and methods, and those of the Report.
// html/template escapes each text where it stands.
type page struct {
	*Report
	Policy  Policy
	Verdict Verdict
	Totals  tallies
	Served  bool // not a file: there are links that a server can follow
	Live    int  // how often a served page loads itself again, in seconds; 0 if it does not
}

func newPage(r *Report, p Policy) *page {
	return &page{Report: r, Policy: p.withDefaults(), Verdict: r.Judge(p), Totals: r.totals()}
}

// write renders first and writes then, so that w never gets half a page.
func (p *page) write(w io.Writer) error {
	t, err := template.New("page").Funcs(template.FuncMap{
		"sign": pageSign, "kind": pageKind, "time": pageTime, "percent": pagePercent, "known": pageOr,
		"operation": operationName, "comparator": pageComparator,
		"differs": pageDiffers, "leftOut": pageLeftOut, "share": func(s float64) string { return pagePercent(100 * s) },
		"grouped": func(n any) string { return grouped(reflect.ValueOf(n).Int()) },
		"counted": func(n any, noun string) string { return counted(reflect.ValueOf(n).Int(), noun) },
	}).Parse(pageTemplate)
	if err != nil {
		return fmt.Errorf("report: page.tmpl: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, p); err != nil {
		return fmt.Errorf("report: page.tmpl: %w", err)
	}
	_, err = w.Write(b.Bytes())
	return err
}

// pagePolicy is the page's Content-Security-Policy: its own style, by its hash, and
// nothing else.
func pagePolicy() string {
	hash := sha256.Sum256([]byte(pageStyle))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) +
		"'; img-src data:; base-uri 'none'; form-action 'none'"
}

func (*page) Loads() string       { return pagePolicy() }
func (*page) Style() template.CSS { return template.CSS(pageStyle) } //nolint:gosec // it is ours

// Ready is for the template.
func (*page) Ready() State { return Ready }

// pageSign is the sign of a state: colours are not for everybody.
func pageSign(s State) string {
	return map[State]string{Ready: "✓", NotReady: "✗", NotEnoughData: "○"}[s]
}

// pageKind is the state's class in page.css.
func pageKind(s State) string {
	return map[State]string{Ready: "good", NotReady: "bad", NotEnoughData: "open"}[s]
}

// Now says what is in effect.
func (p *page) Now() string {
	text, known := map[string]string{
		"": "Mode unknown", "off": "Off: nothing is compared", "shadow": "Shadow: the legacy path serves",
		"reverse": "Reverse: the candidate serves", mixed: "Mixed: the processes do not agree",
	}[p.Mode]
	if !known {
		text = p.Mode
	}
	if p.Mode != mixed { // each has a share of its own then
		text += ", " + pagePercent(p.Percent) + " of the keys"
	}
	return text
}

// Headline is the cause. The name of an operation is spelt as it is.
func (p *page) Headline() string { return pageHeadline(p.Verdict.Cause) }

func pageHeadline(cause string) string {
	if word, _, _ := strings.Cut(cause, " "); word == "" || strings.ContainsAny(word, "/._") {
		return cause
	}
	first, size := utf8.DecodeRuneInString(cause)
	return string(unicode.ToUpper(first)) + cause[size:]
}

// pageGates are those of a state that are listed one by one.
type pageGates struct {
	State State
	Title string
	Gates []Gate
}

// Closed lists no more gates than can be read; a fleet has hundreds while it warms up.
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
	return pageLeftOut(closed, len(p.Closed()[0].Gates)+len(p.Closed()[1].Gates), "gate")
}

// Passed says all of them in a line.
func (p *page) Passed() string {
	passed := p.Verdict.in(Ready)
	names, counts := gateNames(passed)
	for i, name := range names {
		if counts[name] > 1 {
			names[i] = fmt.Sprintf("%s × %d", name, counts[name])
		}
	}
	return fmt.Sprintf("%s passed: %s", counted(len(passed), "gate"), strings.Join(names, ", "))
}

// pageTile is a number that sums up a section.
type pageTile struct {
	Label, Value, Sub string
	Mark              State
}

func (p *page) Tiles() []pageTile {
	blocking := blocked(p.Verify.Findings)
	var compared, missing, excused int64
	for _, c := range Comparators() {
		t := p.Totals[c]
		compared += t.Compared
		blocking += blocked(t.Classes)
		more, said := t.missed()
		missing, excused = missing+more, excused+said
	}
	missed := counted(missing, "comparison") + " missed"
	if excused > 0 {
		missed += ", " + grouped(excused) + " excused"
	}
	tiles := []pageTile{
		{"Differences that block", grouped(blocking), "in " + counted(compared, "comparison"), pageMark(blocking == 0, compared > 0)},
		{"Calls compared", grouped(p.Totals[Seeded].Compared), "with the same input, in " + counted(len(p.Operations), "operation"), ""},
		{"Not compared", pageShare(missing, compared+missing), missed, ""},
		{"p99, candidate", pageNone, "nothing measured yet", ""},
		{"End state", pageNone, "not verified yet", ""},
	}
	if legacy, candidate := p.latencies(); candidate.Count() > 0 {
		tiles[3].Value, tiles[3].Sub = pageDuration(candidate.Quantile(0.99)), "legacy "+pageDuration(legacy.Quantile(0.99))
	}
	if v := p.Verify; v.Rounds > 0 {
		tiles[4] = pageTile{
			"End state", pageShare(v.Equal, v.Checked), fmt.Sprintf("%s of %s keys equal", grouped(v.Equal), grouped(v.Checked)), v.mark(),
		}
	}
	return tiles
}

// mark is how the end state stands: what is looked at again is not decided.
func (v Verify) mark() State {
	switch {
	case blocked(v.Findings) > 0:
		return NotReady
	case v.Rounds == 0 || v.Checked == 0:
		return ""
	case v.Equal == v.Checked:
		return Ready
	case v.Equal+v.Pending+v.Unknown >= v.Checked:
		return NotEnoughData
	default:
		return NotReady
	}
}

// pageMark is what a number says by itself; the gates say more.
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

// latencies sums up those of all operations.
func (r *Report) latencies() (legacy, candidate Latency) {
	for _, o := range r.Operations {
		legacy.Add(o.Legacy)
		candidate.Add(o.Candidate)
	}
	return legacy, candidate
}

// Covers is for how long the calls were counted.
func (p *page) Covers() string {
	if d := p.Taken.Sub(p.Started); d >= 1e9 && !p.Started.IsZero() {
		return pageDuration(d.Truncate(1e9))
	}
	return "just started"
}
