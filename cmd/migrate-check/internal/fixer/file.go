package fixer

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/wholefile"
)

// file is a file as it was found.
type file struct {
	text      []byte
	mode      fs.FileMode
	generated bool
}

// was reports whether a file is the one of a sum; of none nobody knows.
func (f *file) was(sum string) bool { return sum == "" || sum == finding.Sum(f.text) }

func (r *run) path(name string) string {
	full, err := filepath.Abs(filepath.Join(r.Root, filepath.FromSlash(name)))
	if err != nil {
		return filepath.Join(r.Root, filepath.FromSlash(name))
	}
	return full
}

func (r *run) read(name string) (*file, error) {
	if f := r.old[name]; f != nil {
		return f, nil
	}
	info, err := os.Lstat(r.path(name))
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file of its own", name)
	}
	text, err := os.ReadFile(r.path(name))
	if err != nil {
		return nil, err
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments)
	if err != nil {
		return nil, fmt.Errorf("%s is not Go", name)
	}
	f := &file{text: text, mode: info.Mode().Perm(), generated: ast.IsGenerated(parsed)}
	r.old[name] = f
	return f, nil
}

// write writes what has changed. If one file cannot be written, those before get back what
// they held.
func (r *run) write() error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	for _, name := range r.Files { // the type-checker has taken its time
		text, err := os.ReadFile(r.path(name))
		if err != nil {
			return err
		}
		if !bytes.Equal(text, r.old[name].text) {
			return fmt.Errorf("%s has changed meanwhile", name)
		}
	}
	for i, name := range r.Files {
		err := r.swap(name, r.changed[name])
		if err == nil {
			continue
		}
		for _, done := range r.Files[:i] {
			if back := r.swap(done, r.old[done].text); back != nil {
				return fmt.Errorf("%w; and %s could not be restored: %w", err, done, back)
			}
		}
		return err
	}
	return nil
}

// swap exchanges a file in one step, so that nobody ever sees half of it.
func (r *run) swap(name string, text []byte) error {
	return wholefile.Write(r.path(name), r.old[name].mode, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}
