package doccheck

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// checkSnippets compares every block of Go, and every other block that names snippets,
// with the code that it is copied from. A diff names two: what it removes, and what it adds.
func (c *checker) checkSnippets(doc *document) {
	for _, b := range doc.blocks {
		sources, isSnippet := strings.CutPrefix(b.comment, "snippet:")
		switch {
		case isSnippet:
			copies := []string{b.text}
			if b.lang == "diff" {
				copies = []string{side(b.text, "-"), side(b.text, "+")}
			}
			each := strings.Fields(sources)
			if len(each) != len(copies) {
				c.found(doc, b.line, "the block is made of %d snippets, and names %d", len(copies), len(each))
				continue
			}
			for i, source := range each {
				if want, err := c.region(source); err != nil {
					c.found(doc, b.line, "%v", err)
				} else if want != copies[i] {
					c.found(doc, b.line, "the block differs from its snippet %s, which is:\n%s", source, want)
				}
			}
		case b.lang == "go" || b.lang == "golang" || b.lang == "Go":
			c.found(doc, b.line, "a block of Go needs <!-- snippet: path/to/file.go#name --> on the line before it")
		}
	}
}

// side returns the lines of a diff with that mark, and those with none, without the marks.
func side(diff, mark string) string {
	var b strings.Builder
	for line := range strings.Lines(diff) {
		if text, ok := strings.CutPrefix(line, mark); ok {
			b.WriteString(text)
		} else if text, ok := strings.CutPrefix(line, " "); ok {
			b.WriteString(text)
		}
	}
	return b.String()
}

var marker = regexp.MustCompile(`^(?://|--|#)\s*(snippet:\s*(\S+)|endsnippet)$`)

// region returns the text of the snippet FILE#NAME, without the indentation
// that its lines share.
func (c *checker) region(source string) (string, error) {
	file, name, ok := strings.Cut(source, "#")
	if !ok || name == "" {
		return "", fmt.Errorf("snippet %q is not FILE#NAME", source)
	}
	if !compiled(file) {
		return "", fmt.Errorf("snippet %s: the go command ignores this path, so nothing proves that it compiles", source)
	}
	text, err := os.ReadFile(filepath.Join(c.root, filepath.FromSlash(path.Clean("/"+file))))
	if err != nil {
		return "", fmt.Errorf("snippet %s: no such file", source)
	}
	if strings.Contains(string(text), "\n//go:build ignore") || strings.HasPrefix(string(text), "//go:build ignore") {
		return "", fmt.Errorf("snippet %s: nothing compiles a file with go:build ignore", source)
	}
	return cut(string(text), source, name)
}

// cut finds the one region with this name.
func cut(text, source, name string) (string, error) {
	var lines []string
	inside, seen := false, 0
	for text := range strings.Lines(text) {
		text = strings.TrimRight(text, "\r\n")
		found := marker.FindStringSubmatch(strings.TrimSpace(text))
		switch {
		case found != nil && found[2] == name:
			inside = true
			seen++
		case found != nil && found[1] == "endsnippet":
			inside = false
		case found != nil && inside:
			return "", fmt.Errorf("snippet %s: snippet %s begins before it ends", source, found[2])
		case inside:
			lines = append(lines, text)
		}
	}
	switch {
	case inside:
		return "", fmt.Errorf("snippet %s: no endsnippet", source)
	case seen != 1:
		return "", fmt.Errorf("snippet %s: the file has %d regions of this name, want 1", source, seen)
	}
	return dedent(lines), nil
}

func dedent(lines []string) string {
	var shared string
	first := true
	for _, text := range lines {
		if strings.TrimSpace(text) == "" {
			continue
		}
		indent := text[:len(text)-len(strings.TrimLeft(text, "\t "))]
		if first {
			shared, first = indent, false
		}
		for !strings.HasPrefix(indent, shared) {
			shared = shared[:len(shared)-1]
		}
	}
	var b strings.Builder
	for _, text := range lines {
		b.WriteString(strings.TrimRight(strings.TrimPrefix(text, shared), "\t ") + "\n")
	}
	// gofmt inserts blank lines around a marker between declarations.
	return strings.Trim(b.String(), "\n") + "\n"
}

// compiled reports whether the go command builds the file: it ignores testdata and names that begin with a
// dot or an underscore.
func compiled(file string) bool {
	for element := range strings.SplitSeq(file, "/") {
		if element == "testdata" || strings.HasPrefix(element, ".") || strings.HasPrefix(element, "_") {
			return false
		}
	}
	return true
}
