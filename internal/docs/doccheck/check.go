package doccheck

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// checker collects the defects of the documents below root.
type checker struct {
	root     string
	module   string // the path of the root module
	findings []string
}

func (c *checker) found(doc *document, number int, format string, args ...any) {
	c.findings = append(c.findings, fmt.Sprintf("%s:%d: %s", doc.path, number, fmt.Sprintf(format, args...)))
}

// documents returns the existing documents. The second README is a translation of the first.
func documents(root string) ([]string, error) {
	var paths []string
	for _, pattern := range []string{
		"README.md", "README.zh-CN.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/*.md", "docs/results/*.md",
	} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return nil, err
		}
		slices.Sort(found)
		for _, name := range found {
			rel, err := filepath.Rel(root, name)
			if err != nil {
				return nil, err
			}
			paths = append(paths, filepath.ToSlash(rel))
		}
	}
	return paths, nil
}

// Check runs all checks on the documents below root, and returns the findings and the names of the
// documents.
func Check(root string) (findings, read []string, err error) {
	c := &checker{root: root}
	if c.module, err = moduleOf(root); err != nil {
		return nil, nil, err
	}
	read, err = documents(root)
	if err != nil {
		return nil, nil, err
	}
	docs := map[string]*document{}
	for _, path := range read {
		doc, err := readDocument(root, path)
		if err != nil {
			return nil, nil, err
		}
		docs[path] = doc
		c.checkSnippets(doc)
		c.checkShell(doc)
		c.checkLinks(doc)
	}
	switch original, twin := docs["README.md"], docs["README.zh-CN.md"]; {
	case original != nil && twin != nil:
		c.checkTwins(original, twin)
	case original != nil:
		c.found(original, 1, "README.zh-CN.md is missing")
	case twin != nil:
		c.found(twin, 1, "README.md is missing")
	}
	return c.findings, read, nil
}

func moduleOf(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s is not the root of a module", root)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimPrefix(first, "module "), err
}
