package report_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/shadow/report"
	"github.com/unwatch/unwatch/shadow/report/reporttest"
)

// node is an element of a page.
type node struct {
	name  string
	attrs map[string]string
	text  string // including descendants
	path  []string
}

// parse parses a page as XML, which refuses open tags, attributes without quotes, and unescaped
// ampersands.
func parse(t *testing.T, page string) []*node {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(page))
	var nodes, open []*node
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			require.Empty(t, open)
			return nodes
		}
		require.NoError(t, err)
		switch token := token.(type) {
		case xml.StartElement:
			n := &node{name: token.Name.Local, attrs: map[string]string{}}
			for _, attr := range token.Attr {
				n.attrs[attr.Name.Local] = attr.Value
			}
			for _, above := range open {
				n.path = append(n.path, above.name)
			}
			nodes, open = append(nodes, n), append(open, n)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			for _, above := range open {
				above.text += string(token)
			}
		}
	}
}

func render(t *testing.T, r *report.Report) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, r.WriteHTML(&b, report.Policy{}))
	return b.String()
}

func examples() map[string]*report.Report {
	return map[string]*report.Report{
		"ready": reporttest.Ready(), "not ready": reporttest.NotReady(), "thin": reporttest.Thin(), "empty": reporttest.Empty(),
		"fleet": reporttest.Fleet(), "zero": {}, "big": big(), "hostile": hostile(),
	}
}

// big is a report of a fleet with too many items for every table.
func big() *report.Report {
	r := reporttest.NotReady()
	operations := slices.Clone(r.Operations)
	for i := range 20 {
		for _, o := range operations {
			o.Domain = fmt.Sprintf("%s-%d-of-a-service-with-a-long-name", o.Domain, i)
			r.Operations = append(r.Operations, o)
		}
	}
	for len(r.Samples) < 1000 {
		r.Samples = append(r.Samples, r.Samples[0])
		r.Samples[len(r.Samples)-1].Differences = slices.Repeat(r.Samples[0].Differences, 50)
		r.Keys = append(r.Keys, r.Keys[0])
		r.Processes = append(r.Processes, r.Processes[0])
		r.Marks = append(r.Marks, r.Marks[0])
	}
	for i := range 3 * 24 * 60 {
		at := r.Taken.Add(time.Duration(i) * time.Minute)
		r.Timeline = append(r.Timeline, report.Minute{At: at, Compared: int64(i), Diverged: int64(i % 2)})
	}
	return r
}

const attack = `</style></title><script>alert(1)</script>"'><img src=x onerror=alert(1)> & {{.}} javascript:alert(1)`

// hostile is a report with an attack in every text.
func hostile() *report.Report {
	r := reporttest.NotReady()
	poison(reflect.ValueOf(r).Elem())
	r.Operations[0].Tallies = map[report.Comparator]report.Tally{report.Seeded: {
		Eligible: 3, Compared: 1, Classes: map[report.Class]int64{attack: 2}, NotCompared: map[report.Reason]int64{attack: 1},
	}}
	r.Operations[0].Outcomes = map[string]int64{attack: 1}
	return r
}

func poison(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(attack)
	case reflect.Pointer:
		if !v.IsNil() {
			poison(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			poison(v.Index(i))
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			if field.CanSet() {
				poison(field)
			}
		}
	}
}

// The page of any report is one file that loads nothing. Keyboards and screen readers can use it, and
// it is small enough for a phone.
func TestPageIsValidAndAccessible(t *testing.T) {
	for name, r := range examples() {
		t.Run(name, func(t *testing.T) {
			page := render(t, r)
			t.Logf("%d bytes", len(page))
			assert.Less(t, len(page), 150_000)
			nodes := parse(t, page)
			selfContained(t, page, nodes)
			accessible(t, nodes)
			assert.NotContains(t, page, "ZgotmplZ", "html/template has refused something")
			assert.NotContains(t, page, "NaN")
			assert.NotContains(t, page, "Inf")
			assert.NotContains(t, page, "%!")
		})
	}
}

func selfContained(t *testing.T, page string, nodes []*node) {
	t.Helper()
	allowed := []string{
		"html", "head", "meta", "title", "link", "style", "body", "a", "svg", "defs", "pattern", "rect", "line", "polyline", "g", "text",
		"desc", "header", "nav", "main", "section", "footer", "div", "p", "h1", "h2", "h3", "ul", "ol", "li", "dl", "dt", "dd", "strong",
		"small", "span", "code", "table", "thead", "tbody", "tr", "th", "td", "details", "summary", "figure", "figcaption",
	}
	for _, n := range nodes {
		assert.Contains(t, allowed, n.name)
		for attr, value := range n.attrs {
			assert.False(t, strings.HasPrefix(attr, "on") || attr == "style" || attr == "src", "%s %s", n.name, attr)
			if attr == "href" {
				assert.True(t, strings.HasPrefix(value, "#") || value == "data:,", "%s links to %s", n.name, value)
			}
		}
		if n.name == "style" {
			hash := sha256.Sum256([]byte(n.text))
			assert.Contains(t, policyOf(nodes), "'sha256-"+base64.StdEncoding.EncodeToString(hash[:])+"'")
			for _, loads := range []string{"@import", "http", "//", "@font-face", "url(d"} {
				assert.NotContains(t, n.text, loads)
			}
		}
	}
	assert.NotContains(t, page, "http://")
	assert.NotContains(t, page, "https://")
	assert.NotContains(t, page, "<script")
}

func policyOf(nodes []*node) string {
	for _, n := range nodes {
		if n.attrs["http-equiv"] == "Content-Security-Policy" {
			return n.attrs["content"]
		}
	}
	return ""
}

func accessible(t *testing.T, nodes []*node) {
	t.Helper()
	counts, ids, level := map[string]int{}, map[string]bool{}, 0
	for _, n := range nodes {
		counts[n.name]++
		if id, ok := n.attrs["id"]; ok {
			assert.False(t, ids[id], "id %s is there twice", id)
			ids[id] = true
		}
		if strings.HasPrefix(n.name, "h") && len(n.name) == 2 {
			next := int(n.name[1] - '0')
			assert.LessOrEqual(t, next, level+1, "%s %q skips a level", n.name, n.text)
			assert.NotEmpty(t, strings.TrimSpace(n.text))
			level = next
		}
		if n.attrs["class"] == "scroll" {
			assert.Equal(t, "0", n.attrs["tabindex"])
			assert.Equal(t, "region", n.attrs["role"])
			assert.NotEmpty(t, n.attrs["aria-label"])
			counts["scroll"]++
		}
		if n.name == "svg" && n.attrs["role"] == "img" {
			assert.NotEmpty(t, n.attrs["aria-label"])
			counts["img"]++
		}
		if n.name == "th" {
			assert.NotEmpty(t, n.attrs["scope"])
		}
		if n.name == "section" {
			assert.NotEmpty(t, n.attrs["aria-labelledby"])
		}
	}
	for _, n := range nodes {
		if link, ok := strings.CutPrefix(n.attrs["href"], "#"); ok {
			assert.True(t, ids[link], "a link to %q, which is nowhere", link)
		}
		if label, ok := n.attrs["aria-labelledby"]; ok {
			assert.True(t, ids[label], "labelled by %q, which is nowhere", label)
		}
	}
	assert.Equal(t, counts["table"], counts["scroll"], "each table scrolls in its own box")
	assert.Equal(t, counts["img"], counts["desc"], "each chart has a description")
	for _, once := range []string{"h1", "main", "header", "footer"} {
		assert.Equal(t, 1, counts[once], once)
	}
}

// The verdict is the first section.
func TestPageOutline(t *testing.T) {
	var outline []string
	nodes := parse(t, render(t, reporttest.NotReady()))
	for _, n := range nodes {
		if n.name == "h1" || n.name == "h2" {
			outline = append(outline, n.name+" "+strings.Join(strings.Fields(n.text), " "))
		}
	}
	assert.Equal(t, []string{
		"h1 customer service",
		"h2 not ready All 3 differences are session/close, rating: value differs; one cause",
		"h2 Where every call went",
		"h2 What the comparisons came to",
		"h2 Health",
		"h2 What differed, and where",
		"h2 Latency of both paths",
		"h2 Timeline",
		"h2 Coverage",
		"h2 End state",
		"h2 Keys that diverge most",
		"h2 Samples",
		"h2 Fleet",
	}, outline)
	assert.Equal(t, "✗ not ready: customer service", nodes[slices.IndexFunc(nodes, func(n *node) bool { return n.name == "title" })].text)
}

// Every colour with a meaning has a word as well.
func TestPageColoursHaveWords(t *testing.T) {
	for name, r := range examples() {
		for _, n := range parse(t, render(t, r)) {
			class := strings.Fields(n.attrs["class"])
			if slices.Contains(class, "sign") {
				assert.Regexp(t, "^[✓✗○](ready|not ready|not enough data)$", n.text, name)
			}
		}
	}
}

func TestPageEscapes(t *testing.T) {
	nodes := parse(t, render(t, hostile()))
	seen := 0
	for _, n := range nodes {
		if strings.Contains(n.text, attack) && slices.Contains([]string{"td", "th", "code", "h1", "title"}, n.name) {
			seen++
		}
	}
	assert.Greater(t, seen, 30, "the texts are there, as texts")
}

// An accounting error must not look like a difference of the paths.
func TestPageShowsAccountingErrors(t *testing.T) {
	r := reporttest.Ready()
	page := render(t, r)
	assert.Equal(t, 3, strings.Count(page, "Adds up"+": "))
	tally := r.Operations[0].Tallies[report.Lockstep]
	tally.Eligible += 12
	r.Operations[0].Tallies[report.Lockstep] = tally
	page = render(t, r)
	assert.Contains(t, page, "Does not add up. chat/join, lockstep: ")
	assert.Equal(t, 2, strings.Count(page, "Adds up"+": "))
}

// A saved page has no links to a server.
func TestSavedPageHasNoServerLinks(t *testing.T) {
	assert.NotRegexp(t, regexp.MustCompile(`href="\?`), render(t, reporttest.Ready()))
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestPageReturnsWriteErrors(t *testing.T) {
	assert.ErrorIs(t, reporttest.Empty().WriteHTML(broken{}, report.Policy{}), io.ErrClosedPipe)
}
