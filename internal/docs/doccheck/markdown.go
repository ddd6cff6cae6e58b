package doccheck

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// document holds the checked parts of a Markdown file.
type document struct {
	path     string // relative to the root, with slashes
	blocks   []block
	headings []heading
	prose    []line // everything outside of code blocks
}

// block is a fenced block of code.
type block struct {
	line int // of the opening fence, counted from 1
	lang string
	text string
	// comment is the HTML comment on the line before the fence, without its
	// marks, and empty if there is none.
	comment string
}

type heading struct {
	level int
	text  string
}

type line struct {
	number int
	text   string
}

func readDocument(root, path string) (*document, error) {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(path)))
	if err != nil {
		return nil, err
	}
	return parse(path, string(text)), nil
}

var (
	fence   = regexp.MustCompile("^(\\s*)(```+|~~~+)\\s*([^\\s`]*)[^`]*$")
	comment = regexp.MustCompile(`^<!--\s*(.*?)\s*-->$`)
	title   = regexp.MustCompile(`^(#{1,6})\s+(.*?)\s*#*$`)
)

func parse(path, text string) *document {
	doc := &document{path: path}
	var open *block // the current block
	var indent, mark, before string
	for i, text := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		text = strings.TrimSuffix(text, "\r")
		switch found := fence.FindStringSubmatch(text); {
		case open == nil && found != nil:
			indent, mark = found[1], found[2]
			open = &block{line: i + 1, lang: found[3]}
			if c := comment.FindStringSubmatch(strings.TrimSpace(before)); c != nil {
				open.comment = c[1]
			}
		case open != nil && found != nil && found[3] == "" && strings.HasPrefix(found[2], mark):
			doc.blocks = append(doc.blocks, *open)
			open = nil
		case open != nil:
			open.text += strings.TrimPrefix(text, indent) + "\n"
		default:
			if h := title.FindStringSubmatch(text); h != nil {
				doc.headings = append(doc.headings, heading{len(h[1]), h[2]})
			}
			doc.prose = append(doc.prose, line{i + 1, text})
		}
		before = text
	}
	if open != nil { // unclosed: it reaches to the end, as in HTML
		doc.blocks = append(doc.blocks, *open)
	}
	return doc
}
