package cutoverstatus

import (
	_ "embed" // the template
	"fmt"
	"html/template"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/unwatch/unwatch/cutover/operate"
	"github.com/unwatch/unwatch/internal/exposition"
	"github.com/unwatch/unwatch/internal/htmlpage"
	"github.com/unwatch/unwatch/internal/wrap"
)

//go:embed page.tmpl
var pageTemplate string

// WriteHTML writes the status as one self-contained page.
func (s Status) WriteHTML(w io.Writer) error {
	return htmlpage.Render(w, "cutover", pageTemplate, template.FuncMap{"time": wrap.Time}, page{s})
}

// page is the data of page.tmpl.
type page struct{ Status }

// tile summarises a figure.
type tile struct{ Name, Value, Sub string }

func (p page) Tiles() []tile {
	tiles := []tile{
		{"Pause, p99", wrap.None, "of the slowest process"},
		{"Longest pause", wrap.None, "of any key"},
		{"Moves", wrap.Grouped(int64(p.Pause.Batches)), "in " + wrap.Counted(len(p.Processes), "process")},
		{"Oldest in transit", wrap.None, "among the keys looked at"},
		{"Way back takes", wrap.None, "unknown"},
	}
	if p.Pause.Batches > 0 {
		tiles[0].Value, tiles[1].Value = wrap.Duration(p.Pause.P99), wrap.Duration(p.Pause.Max)
	}
	if p.Keys != nil && p.Keys.Transit > 0 {
		tiles[3].Value = wrap.Duration(p.Keys.Oldest)
	}
	if p.Back.Takes > 0 {
		tiles[4].Value, tiles[4].Sub = round(p.Back.Takes), "for "+wrap.Counted(p.Back.Keys, "key")
	}
	return tiles
}

// bar is the keyspace by state.
type bar struct {
	Name, Desc, Sum string
	Parts           []htmlpage.Part
	States          []state
}

func (p page) Bar() bar {
	b := bar{Name: "Keys by state", Sum: wrap.Counted(p.Keys.All(), "key")}
	var counts []int64
	var kinds, words []string
	for _, one := range p.Keys.states() {
		counts, kinds = append(counts, one.n), append(kinds, one.kind)
		words = append(words, wrap.Grouped(one.n)+" "+one.name)
		b.States = append(b.States, one)
	}
	b.Parts, b.Desc = htmlpage.Parts(max(p.Keys.All(), 1), counts, kinds), strings.Join(words, ", ")
	return b
}

// The template reads these.

func (s state) Name() string  { return s.name }
func (s state) Kind() string  { return s.kind }
func (s state) Count() string { return wrap.Grouped(s.n) }

func (p page) KeysTable() *htmlpage.Table {
	t := htmlpage.NewTable("Keys by state", "Keys", "#Number", "#Share")
	for _, one := range p.Keys.states() {
		count := htmlpage.NewCell(one.n)
		if one.kind == "diverged" && one.n > 0 {
			count.Mark = string(operate.GateClosed)
		}
		t.Row(htmlpage.Heading(one.name), count, htmlpage.Figure(p.Keys.share(one.n)))
	}
	return t
}

func (p page) Transit() *htmlpage.Table {
	t := htmlpage.NewTable("Keys in transit", "Key in transit")
	if p.Keys != nil {
		for _, name := range p.Keys.Moving {
			t.Row(htmlpage.Heading(htmlpage.Code(name)))
		}
	}
	return t
}

// Fleet lists the processes, and marks those with a problem.
func (p page) Fleet() *htmlpage.Table {
	t := htmlpage.NewTable("Processes", "Process", "#Epoch", "#Moves", "#p50", "#p99", "#Max", "Heartbeat", "Build", "Error")
	for _, one := range p.Processes {
		epoch, failure := htmlpage.NewCell(int64(one.Epoch)), htmlpage.NewCell(htmlpage.Prose(one.Error))
		if one.Epoch < p.Stage.Epoch {
			epoch.Mark = string(operate.GateClosed)
		}
		if one.Error != "" {
			failure.Mark = string(operate.GateClosed)
		}
		t.Row(htmlpage.Heading(htmlpage.Code(one.Name)), epoch, int64(one.Pause.Batches),
			htmlpage.Figure(wrap.Duration(one.Pause.P50)), htmlpage.Figure(wrap.Duration(one.Pause.P99)),
			htmlpage.Figure(wrap.Duration(one.Pause.Max)), htmlpage.Cell{Text: wrap.Ago(one.At, p.At), Kind: "when"},
			htmlpage.Code(one.Build), failure)
	}
	return t.Limit(30, "process")
}

// Handler serves the status that read returns: as a page that reloads itself every five seconds, as
// JSON with ?format=json, and as metrics under /metrics. It answers GET and HEAD. A page or JSON of a
// status with an Error has status 503; Prometheus would drop such an answer.
func Handler(read func(*http.Request) Status) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		htmlpage.SetHeaders(w.Header())
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "this page is read with GET", http.StatusMethodNotAllowed)
			return
		}
		format := r.URL.Query().Get("format")
		if format == "" && strings.HasSuffix(r.URL.Path, "/metrics") {
			format = "metrics"
		}
		if !slices.Contains([]string{"", "html", "json", "metrics"}, format) {
			http.Error(w, fmt.Sprintf("format is %q: want html, json or metrics", format), http.StatusBadRequest)
			return
		}
		s := read(r)
		write, kind := s.WriteHTML, "text/html; charset=utf-8"
		switch format {
		case "json":
			write, kind = s.WriteJSON, "application/json"
		case "metrics":
			write, kind = s.WriteMetrics, exposition.Type
		default:
			w.Header().Set("Refresh", "5")
		}
		w.Header().Set("Content-Type", kind)
		if s.Error != "" && format != "metrics" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		if r.Method == http.MethodGet {
			_ = write(w) // the client may be gone
		}
	})
}

// WriteJSON writes the status as indented JSON.
func (s Status) WriteJSON(w io.Writer) error {
	return wrap.WriteJSON(w, s)
}
