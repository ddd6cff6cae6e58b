package htmlpage_test

import (
	"html/template"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/htmlpage"
	"github.com/unwatch/unwatch/internal/testing/pagetest"
)

func render(t *testing.T, text string, data any) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, htmlpage.Render(&b, "test", text, template.FuncMap{}, data))
	return b.String()
}

const minimal = `{{template "head" "a title"}}<header><h1>A</h1></header><main>{{template "table" .}}</main><footer></footer></body></html>`

func TestRenderEscapes(t *testing.T) {
	table := htmlpage.NewTable(pagetest.Attack, pagetest.Attack, "#n")
	const evil = pagetest.Attack
	table.Row(htmlpage.Cell{Text: evil, Sub: evil, Kind: evil, Tag: evil, Mark: evil}, int64(7))
	page := render(t, minimal, table)
	nodes := pagetest.Parse(t, page)
	pagetest.SelfContained(t, page, nodes)
	pagetest.Accessible(t, nodes)
}

func TestTableLimit(t *testing.T) {
	table := htmlpage.NewTable("numbers", "#n")
	for i := range int64(5) {
		table.Row(i)
	}
	table.Limit(3, "number")
	assert.Len(t, table.Rows, 3)
	assert.Equal(t, "2 numbers more: the JSON has all of them.", table.Note)
}

// faults collects the failures of a check.
type faults struct {
	testing.TB
	failed int
}

func (f *faults) Helper()               {}
func (f *faults) Errorf(string, ...any) { f.failed++ }

// Negative controls of package pagetest.
func TestChecksFindFaults(t *testing.T) {
	for _, fault := range []string{
		`<script>x</script>`, `<a href="https://example.com">x</a>`, `<p onclick="x">x</p>`, `<img src="x"/>`, `<p>NaN</p>`,
		`<a href="#nowhere">x</a>`, `<h3>too deep</h3>`, `<table><tr><th>x</th></tr></table>`, `<section>x</section>`, `<h1>twice</h1>`,
	} {
		page := render(t, strings.Replace(minimal, "<main>", "<main>"+fault, 1), htmlpage.NewTable(""))
		nodes := pagetest.Parse(t, page)
		f := &faults{TB: t}
		pagetest.SelfContained(f, page, nodes)
		pagetest.Accessible(f, nodes)
		assert.Positive(t, f.failed, fault)
	}
}

// A long name loses its middle, and no escaped character is cut. A long text of short words stays.
func TestWordsAreShort(t *testing.T) {
	words := strings.Repeat("word ", 200)
	table := htmlpage.NewTable("names", "name")
	table.Row(htmlpage.Code("front" + strings.Repeat("<&", 3000) + "back"))
	table.Row(words)
	page := render(t, minimal, table)
	pagetest.Parse(t, page) // refuses half an entity
	assert.Less(t, len(page), 20_000)
	assert.Contains(t, page, "front&lt;&amp;&lt;")
	assert.Contains(t, page, "&amp;back<")
	assert.Contains(t, page, words)
}
