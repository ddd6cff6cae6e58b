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

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/wholefile"
)

// file is the state of a file before the changes.
type file struct {
	text      []byte
	mode      fs.FileMode
	generated bool
}

func (r *run) path(name string) string {
	full := filepath.Join(r.Root, filepath.FromSlash(name))
	if abs, err := filepath.Abs(full); err == nil {
		return abs
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
		return nil, fmt.Errorf("%s is not a regular file", name)
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

// write writes the changed files. If one cannot be written, it restores those before.
func (r *run) write() error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	for _, name := range r.Files { // the type check takes a while
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

// swap replaces a file atomically.
func (r *run) swap(name string, text []byte) error {
	return wholefile.Write(r.path(name), r.old[name].mode, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// gofmt drops the byte order mark and changes the line endings.
var (
	mark = []byte("\ufeff")
	crlf = []byte("\r\n")
	lf   = []byte("\n")
)

// dressed gives a text the line endings and the byte order mark of another one, so that no other lines change.
func dressed(text, like []byte) []byte {
	if bytes.Contains(like, crlf) {
		text = bytes.ReplaceAll(text, lf, crlf)
	}
	if bytes.HasPrefix(like, mark) && !bytes.HasPrefix(text, mark) {
		text = append(bytes.Clone(mark), text...)
	}
	return text
}
