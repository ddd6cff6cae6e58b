package lexical

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/directive"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
	"github.com/unwatch/unwatch/proxycompat"
)

// Options say what Walk looks at. The zero value looks at all languages.
type Options struct {
	Profile   *proxycompat.Profile // default: Codis
	Languages Languages            // default: all
	// Directive, if it is given, gets the directives in comments, in the order of the files.
	Directive func(*directive.Directive)
	// Files, if it is given, gets how many files are looked at added.
	Files *int
}

// maxSize limits the size of a file, in bytes.
const maxSize = 2 << 20

// passedBy are the folders that have no code of one's own.
var passedBy = map[string]string{
	".git": "not code", ".hg": "not code", ".svn": "not code", "node_modules": "dependencies", "bower_components": "dependencies",
	"vendor": "dependencies", "third_party": "dependencies", "site-packages": "dependencies", ".venv": "dependencies",
	"venv": "dependencies",
	".tox": "dependencies", "__pycache__": "built", ".gradle": "built", "target": "built", "build": "built", "dist": "built",
	".next": "built",
}

// Walk searches all files below the root of fsys, and returns the findings and the skipped files,
// ordered by path. Paths have slashes and begin at the root. If ctx ends, Walk returns its error
// and the findings so far.
func Walk(ctx context.Context, fsys fs.FS, opts Options) ([]finding.Finding, []finding.Unseen, error) {
	if opts.Profile == nil {
		opts.Profile = proxycompat.Codis32()
	}
	if opts.Languages == nil {
		opts.Languages = All()
	}
	files, skipped, err := list(ctx, fsys, opts)
	if err != nil {
		return nil, skipped, err
	}
	if opts.Files != nil {
		*opts.Files += len(files)
	}
	results := make([]result, len(files))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(files)) {
		workers.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(files) && ctx.Err() == nil; i = next.Add(1) - 1 {
				results[i] = look(fsys, files[i], opts)
			}
		})
	}
	workers.Wait()
	var all []finding.Finding
	for _, r := range results {
		all = append(all, r.found...)
		for _, d := range r.directives {
			opts.Directive(d)
		}
		skipped = append(skipped, r.skipped...)
	}
	finding.Sort(all)
	slices.SortFunc(skipped, func(a, b finding.Unseen) int { return strings.Compare(a.Path, b.Path) })
	return all, skipped, ctx.Err()
}

type result struct {
	found      []finding.Finding
	directives []*directive.Directive
	skipped    []finding.Unseen
}

// list tells which files are to be looked at.
func list(ctx context.Context, fsys fs.FS, opts Options) (files []string, skipped []finding.Unseen, err error) {
	pass := func(path, reason string) { skipped = append(skipped, finding.Unseen{Path: path, Reason: reason}) }
	err = fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			if name == "." {
				return err
			}
			pass(name, reasonOf(err))
			return fs.SkipDir
		}
		if entry.IsDir() {
			if reason, ok := passedBy[entry.Name()]; ok && name != "." {
				pass(name, reason)
				return fs.SkipDir
			}
			return nil
		}
		lang := LanguageOf(name)
		if lang == None || !slices.Contains(opts.Languages, lang) {
			return nil
		}
		switch info, err := entry.Info(); {
		case err != nil:
			pass(name, reasonOf(err))
		case !info.Mode().IsRegular():
			pass(name, "not a regular file")
		case info.Size() > maxSize:
			pass(name, "too large")
		case strings.Contains(path.Base(name), ".min."):
			pass(name, "minified")
		default:
			files = append(files, name)
		}
		return nil
	})
	return files, skipped, err
}

func reasonOf(err error) string {
	var of *fs.PathError
	if errors.As(err, &of) {
		return of.Err.Error()
	}
	return err.Error()
}

// look looks at a file.
func look(fsys fs.FS, name string, opts Options) result {
	src, err := fs.ReadFile(fsys, name)
	switch {
	case err != nil:
		return result{skipped: []finding.Unseen{{Path: name, Reason: reasonOf(err)}}}
	case len(src) > maxSize: // it has grown
		return result{skipped: []finding.Unseen{{Path: name, Reason: "too large"}}}
	case bytes.IndexByte(src[:min(len(src), 8000)], 0) >= 0:
		return result{skipped: []finding.Unseen{{Path: name, Reason: "not text"}}}
	case minified(src):
		return result{skipped: []finding.Unseen{{Path: name, Reason: "minified"}}}
	}
	r := result{found: Scan(opts.Profile, name, src, opts.Languages)}
	if opts.Directive != nil {
		r.directives = Directives(name, src)
	}
	return r
}

// minified reports whether the lines are too long for code that a person wrote.
func minified(src []byte) bool {
	return len(src) > 10_000 && len(src)/(bytes.Count(src, []byte("\n"))+1) > 500
}
