// Package htmlpage renders pages for operators: one file each, without scripts, which loads nothing.
package htmlpage

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the style and the templates
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"regexp"
	"strings"

	"github.com/unwatch/unwatch/internal/wrap"
)

//go:embed page.css
var style string

//go:embed parts.tmpl
var parts string

// Style is the style sheet of every page.
func Style() template.CSS { return template.CSS(style) } //nolint:gosec // embedded, not user input

// Policy is the Content-Security-Policy of every page: only its own style, by hash.
func Policy() string {
	hash := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) +
		"'; img-src data:; base-uri 'none'; form-action 'none'"
}

// SetHeaders permits a response to load the style of its page only, and no cache to keep it.
func SetHeaders(h http.Header) {
	h.Set("Content-Security-Policy", Policy()+"; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
}

// Render executes a template with the data and writes the whole page, or nothing. The template may
// use the templates head, sign, cell, table and share, which are in parts.tmpl. Texts are escaped by
// their context. Characters that are not printable become "?", and long words lose their middle.
func Render(w io.Writer, name, text string, funcs template.FuncMap, data any) error {
	t, err := template.New(name).Funcs(template.FuncMap{
		"sign": func(state any) string {
			return map[string]string{"ready": "✓", "not ready": "✗", "not enough data": "○"}[fmt.Sprint(state)]
		},
		"kind": func(state any) string {
			return map[string]string{"ready": "good", "not ready": "bad", "not enough data": "open"}[fmt.Sprint(state)]
		},
		"style": Style, "policy": Policy,
	}).Funcs(funcs).Parse(parts)
	if err == nil {
		t, err = t.Parse(text)
	}
	var b bytes.Buffer
	if err == nil {
		err = t.Execute(&b, data)
	}
	if err != nil {
		return fmt.Errorf("page %s: %w", name, err)
	}
	_, err = io.WriteString(w, short(wrap.Text(b.String())))
	return err
}

// The words of a page that are too long to show, and their characters. An escaped character is one.
var (
	long      = regexp.MustCompile(`(?:[^\s<>"'&;]|&[#\w]+;){201,}`)
	character = regexp.MustCompile(`&[#\w]+;|.`)
)

// short removes the middle of each word above 200 characters: a name of a key may have megabytes.
func short(page string) string {
	return long.ReplaceAllStringFunc(page, func(word string) string {
		all := character.FindAllString(word, -1)
		return strings.Join(all[:99], "") + ".." + strings.Join(all[len(all)-99:], "")
	})
}
