package doccheck

import (
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

var (
	codeSpan   = regexp.MustCompile("``[^`]*(?:`[^`]+)*``|`[^`]*`")
	inline     = regexp.MustCompile(`\]\(\s*<?([^)\s>]*)>?[^)]*\)`)
	definition = regexp.MustCompile(`^\s{0,3}\[[^\]^]+\]:\s*<?([^\s>]+)>?`)
	scheme     = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9+.-]*:|^//`)
)

// checkLinks checks the target of every relative link.
func (c *checker) checkLinks(doc *document) {
	for _, l := range doc.prose {
		text := codeSpan.ReplaceAllString(l.text, "")
		for _, pattern := range []*regexp.Regexp{inline, definition} {
			for _, found := range pattern.FindAllStringSubmatch(text, -1) {
				c.checkLink(doc, l.number, found[1])
			}
		}
	}
}

func (c *checker) checkLink(doc *document, number int, link string) {
	if scheme.MatchString(link) {
		return // an external page
	}
	raw, fragment, _ := strings.Cut(link, "#")
	name, err := url.PathUnescape(raw)
	if err != nil {
		c.found(doc, number, "link %s: %v", link, err)
		return
	}
	to := path.Join(path.Dir(doc.path), name)
	switch {
	case name == "":
		to = doc.path
	case strings.HasPrefix(name, "/"):
		to = path.Clean(name[1:]) // the host resolves these from the root
	}
	if to == ".." || strings.HasPrefix(to, "../") {
		c.found(doc, number, "link %s leaves the repository", link)
		return
	}
	if _, err := os.Stat(filepath.Join(c.root, filepath.FromSlash(to))); err != nil {
		c.found(doc, number, "link %s: no such file", link)
		return
	}
	if fragment == "" || path.Ext(to) != ".md" {
		return
	}
	other, err := readDocument(c.root, to)
	if err != nil || !other.anchors()[unescape(fragment)] {
		c.found(doc, number, "link %s: no such heading", link)
	}
}

func unescape(fragment string) string {
	if plain, err := url.PathUnescape(fragment); err == nil {
		return plain
	}
	return fragment
}

// anchors returns the fragments of the document's headings.
func (d *document) anchors() map[string]bool {
	anchors := map[string]bool{}
	for _, h := range d.headings {
		first := slug(h.text)
		anchor := first
		for n := 1; anchors[anchor]; n++ {
			anchor = first + "-" + strconv.Itoa(n)
		}
		anchors[anchor] = true
	}
	return anchors
}

var linkText = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)

// slug returns GitHub's anchor of a heading.
func slug(text string) string {
	text = linkText.ReplaceAllString(text, "$1")
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(text))
}
