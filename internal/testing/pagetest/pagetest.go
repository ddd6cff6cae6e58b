// Package pagetest checks pages in tests.
package pagetest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func check(t testing.TB, ok bool, format string, args ...any) {
	t.Helper()
	if !ok {
		t.Errorf(format, args...)
	}
}

// Node is an element of a page.
type Node struct {
	Name  string
	Attrs map[string]string
	Text  string // including descendants
	Path  []string
}

// Parse parses a page as XML, which refuses open tags, attributes without quotes, and unescaped
// ampersands.
func Parse(t testing.TB, page string) []*Node {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(page))
	var nodes, open []*Node
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			check(t, len(open) == 0, "%d elements are open at the end", len(open))
			return nodes
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			n := &Node{Name: token.Name.Local, Attrs: map[string]string{}}
			for _, attr := range token.Attr {
				n.Attrs[attr.Name.Local] = attr.Value
			}
			for _, above := range open {
				n.Path = append(n.Path, above.Name)
			}
			nodes, open = append(nodes, n), append(open, n)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			for _, above := range open {
				above.Text += string(token)
			}
		}
	}
}

// SelfContained requires that a page loads nothing and runs nothing, and is [Clean].
func SelfContained(t testing.TB, page string, nodes []*Node) {
	t.Helper()
	Clean(t, page)
	allowed := []string{
		"html", "head", "meta", "title", "link", "style", "body", "a", "svg", "defs", "pattern", "rect",
		"desc", "header", "nav", "main", "section", "footer", "div", "p", "h1", "h2", "h3", "ul", "ol", "li", "dl", "dt", "dd", "strong",
		"small", "span", "code", "table", "thead", "tbody", "tr", "th", "td", "details", "summary",
	}
	for _, n := range nodes {
		check(t, slices.Contains(allowed, n.Name), "an element %s", n.Name)
		for attr, value := range n.Attrs {
			check(t, !strings.HasPrefix(attr, "on") && attr != "style" && attr != "src", "%s %s", n.Name, attr)
			if attr == "href" {
				check(t, strings.HasPrefix(value, "#") || value == "data:,", "%s links to %s", n.Name, value)
			}
		}
		if n.Name == "style" {
			hash := sha256.Sum256([]byte(n.Text))
			permitted := "'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) + "'"
			check(t, strings.Contains(PolicyOf(nodes), permitted), "the policy forbids the style")
			for _, loads := range []string{"@import", "http", "//", "@font-face", "url(d"} {
				check(t, !strings.Contains(n.Text, loads), "the style has %s", loads)
			}
		}
	}
	// html/template writes ZgotmplZ for a text that it refuses.
	for _, text := range []string{"http://", "https://", "<script", "ZgotmplZ", "NaN", "Inf", "%!"} {
		check(t, !strings.Contains(page, text), "the page has %s", text)
	}
}

// PolicyOf returns the Content-Security-Policy in a page.
func PolicyOf(nodes []*Node) string {
	for _, n := range nodes {
		if n.Attrs["http-equiv"] == "Content-Security-Policy" {
			return n.Attrs["content"]
		}
	}
	return ""
}

// Accessible requires headings, labels and links that a keyboard and a screen reader can use.
func Accessible(t testing.TB, nodes []*Node) {
	t.Helper()
	counts, ids, level := map[string]int{}, map[string]bool{}, 0
	for _, n := range nodes {
		counts[n.Name]++
		if id, ok := n.Attrs["id"]; ok {
			check(t, !ids[id], "id %s is there twice", id)
			ids[id] = true
		}
		if strings.HasPrefix(n.Name, "h") && len(n.Name) == 2 {
			next := int(n.Name[1] - '0')
			check(t, next <= level+1, "%s %q skips a level", n.Name, n.Text)
			check(t, strings.TrimSpace(n.Text) != "", "an empty %s", n.Name)
			level = next
		}
		if n.Attrs["class"] == "scroll" {
			check(t, n.Attrs["tabindex"] == "0" && n.Attrs["role"] == "region" && n.Attrs["aria-label"] != "",
				"a scrolling box without a label")
			counts["scroll"]++
		}
		if n.Name == "svg" && n.Attrs["role"] == "img" {
			check(t, n.Attrs["aria-label"] != "", "a chart without a label")
			counts["img"]++
		}
		if n.Name == "th" {
			check(t, n.Attrs["scope"] != "", "a heading without a scope")
		}
		if n.Name == "section" {
			check(t, n.Attrs["aria-labelledby"] != "", "a section without a label")
		}
	}
	for _, n := range nodes {
		if link, ok := strings.CutPrefix(n.Attrs["href"], "#"); ok {
			check(t, ids[link], "a link to %q, which is nowhere", link)
		}
		if label, ok := n.Attrs["aria-labelledby"]; ok {
			check(t, ids[label], "labelled by %q, which is nowhere", label)
		}
	}
	check(t, counts["table"] == counts["scroll"], "a table does not scroll in its own box")
	check(t, counts["img"] == counts["desc"], "a chart has no description")
	for _, once := range []string{"h1", "main", "header", "footer"} {
		check(t, counts[once] == 1, "%d elements %s", counts[once], once)
	}
}

// Attack is a text that must be escaped.
const Attack = `</style></title><script>alert(1)</script>"'><img src=x onerror=alert(1)> & {{.}} javascript:alert(1)`

// Hostile has characters that a terminal or a reader's eye takes for others, and no UTF-8.
const Hostile = "\x1b[2J\a\r\u009b2J\u202e\u2028\u200b\xff"

// Long has a word that is too long to show, as a key may be.
var Long = strings.Repeat("k", 5<<10)

// Clean checks that a text has no character of Hostile, and no word that is too long to show.
func Clean(t testing.TB, text string) {
	t.Helper()
	check(t, utf8.ValidString(text), "this is no UTF-8")
	for _, c := range text {
		if c != '\n' && c != '\t' && !unicode.IsGraphic(c) {
			t.Errorf("the text has %U", c)
			return
		}
	}
	check(t, !strings.Contains(text, Long), "the text has a word of %d bytes", len(Long))
}

// Poison appends [Attack], [Hostile] and [Long] to every text of a value.
func Poison(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(Attack + Hostile + " " + Long)
	case reflect.Pointer:
		if !v.IsNil() {
			Poison(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			Poison(v.Index(i))
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			if field.CanSet() {
				Poison(field)
			}
		}
	}
}
