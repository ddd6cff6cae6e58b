package profilefile

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// position is a place in a file; column 0 is unknown.
type position struct{ line, column int }

func place(node *yaml.Node) position { return position{max(node.Line, 1), node.Column} }

// problem is one error in a file.
type problem struct {
	file string
	at   position
	err  error
}

// Error has the form that editors and CI systems turn into a link.
func (p *problem) Error() string {
	if p.at.column == 0 {
		return fmt.Sprintf("%s:%d: %v", p.file, p.at.line, p.err)
	}
	return fmt.Sprintf("%s:%d:%d: %v", p.file, p.at.line, p.at.column, p.err)
}

func (p *problem) Unwrap() error { return p.err }

// problems collects errors, so that one run reports all of them.
type problems struct {
	file string
	list []*problem
}

func (p *problems) add(at position, format string, args ...any) {
	p.list = append(p.list, &problem{p.file, at, fmt.Errorf(format, args...)})
}

// err joins the problems in the order of their lines; nil if there are none.
func (p *problems) err() error {
	slices.SortStableFunc(p.list, func(a, b *problem) int {
		return cmp.Or(cmp.Compare(a.at.line, b.at.line), cmp.Compare(a.at.column, b.at.column))
	})
	errs := make([]error, len(p.list))
	for i, one := range p.list {
		errs[i] = one
	}
	return errors.Join(errs...)
}

// bare is an error of package proxycompat without its prefix, since file and line precede it.
type bare struct{ error }

func plain(err error) error { return bare{err} }

func (b bare) Error() string { return strings.TrimPrefix(b.error.Error(), "proxycompat: ") }

func (b bare) Unwrap() error { return b.error }
