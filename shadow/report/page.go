package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the template and its style
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"time"
)

//go:embed page.tmpl
var pageTemplate string

//go:embed page.css
var pageStyle string

// WriteHTML writes the Report, judged by p, as one HTML page that needs nothing else: no
// script, no style sheet, no font and no image from elsewhere. It can be mailed, attached
// and printed. [Handler] serves the same page.
func (r *Report) WriteHTML(w io.Writer, p Policy) error {
	return newPage(r, p, r.Judge(p), nil).write(w)
}

// page is what page.tmpl shows. Everything in it is text: html/template escapes it where
// it stands.
type page struct {
	Style  template.CSS
	Policy string // what the browser may load and run: nothing
	Title  string
	Nav    *pageNav // nil in a file, which nobody serves
	Now    string   // what is in effect, and when that was
	Facts  []pageFact

	*Report
	Verdict  pageVerdict
	Calls    pageCalls
	Latency  pageLatency
	Timeline pageTimeline
	Coverage pageTable
	Proves   string // what its bounds are
	EndState pageTable
	Rounds   string // how far the verifier is
	Dirty    pageTable
	Cases    []pageSample
	MoreOf   string // samples that are not shown
	Fleet    pageTable
}

// pageNav is what a server can do and a file cannot.
type pageNav struct {
	Live time.Duration // how often the page loads itself again; 0 if it does not
}

// Seconds is how often, as the query has it.
func (n *pageNav) Seconds() int { return int(n.Live / time.Second) }

// The states, for the template.
func (*page) Ready() State     { return Ready }
func (*page) NotReady() State  { return NotReady }
func (*page) Undecided() State { return NotEnoughData }

type pageFact struct{ Name, Value, Sub string }

func newPage(r *Report, policy Policy, v Verdict, nav *pageNav) *page {
	policy = policy.withDefaults()
	p := &page{
		Style: template.CSS(pageStyle), Policy: pagePolicy(), Nav: nav, Report: r, //nolint:gosec // it is ours
		Verdict: newPageVerdict(r, v), Calls: newPageCalls(r, policy), Latency: newPageLatency(r), Timeline: newPageTimeline(r),
		Coverage: pageCoverage(r, v, policy), EndState: pageVerify(r.Verify), Rounds: pageRounds(r.Verify),
		Dirty: pageDirty(r), Fleet: pageFleet(r, policy),
	}
	p.Proves = fmt.Sprintf("The rate of differences is what the calls prove, at %s: an upper bound, also if none was found.",
		pagePercent(100*policy.Confidence))
	p.Cases, p.MoreOf = newPageSamples(r)
	name := r.Name
	if name == "" {
		name = "shadow"
	}
	p.Title = fmt.Sprintf("%s %s: %s", pageSign(v.State), v.State, name)
	p.Now = pageModeText(r)
	if r.Mode != "mixed" { // each has a share of its own then
		p.Now += ", " + pagePercent(r.Percent) + " of the keys"
	}
	p.Now += ". Taken " + pageTime(r.Taken) + "."
	p.Facts = []pageFact{
		{"Covers", pageUp(r), "since " + pageTime(r.Started)},
		{"Build", pageOr(r.Build), "in " + pagePlural(len(r.Processes), "process")},
	}
	noise := pageFact{"Calibration", "none", "no A/A run is known: differences may be noise"}
	if c := r.Calibration; c != nil {
		noise.Value = pagePlural(c.Blocking, "false alarm")
		noise.Sub = "in " + grouped(c.Compared) + " calls, " + pageTime(c.Taken)
	}
	p.Facts = append(p.Facts, noise)
	return p
}

// write renders first and writes then, so that w never gets half a page.
func (p *page) write(w io.Writer) error {
	t, err := template.New("page").Funcs(template.FuncMap{"sign": pageSign, "kind": pageKind}).Parse(pageTemplate)
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

// pageSign is the sign of a state: colours are not for everybody.
func pageSign(s State) string {
	switch s {
	case Ready:
		return "✓"
	case NotReady:
		return "✗"
	default:
		return "○"
	}
}

// pageKind is the state's class in page.css.
func pageKind(s State) string {
	switch s {
	case Ready:
		return "good"
	case NotReady:
		return "bad"
	default:
		return "open"
	}
}
