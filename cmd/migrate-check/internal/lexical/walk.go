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

// Result has the findings and the directives in some files, in the order of their paths.
type Result struct {
	Findings   []finding.Finding
	Directives []*directive.Directive
	Skipped    []finding.Unseen
	Files      int // that were searched
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

// Walk searches all files of some languages below the root of fsys. Paths have slashes and begin at the root. If ctx
// ends, Walk returns its error and the findings so far.
func Walk(ctx context.Context, fsys fs.FS, p *proxycompat.Profile, langs Languages) (Result, error) {
	files, skipped, err := list(ctx, fsys, langs)
	all := Result{Skipped: skipped, Files: len(files)}
	if err != nil {
		return all, err
	}
	results := make([]Result, len(files))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(files)) {
		workers.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(files) && ctx.Err() == nil; i = next.Add(1) - 1 {
				results[i] = look(fsys, files[i], p)
			}
		})
	}
	workers.Wait()
	for _, r := range results {
		all.Findings = append(all.Findings, r.Findings...)
		all.Directives = append(all.Directives, r.Directives...)
		all.Skipped = append(all.Skipped, r.Skipped...)
	}
	finding.Sort(all.Findings)
	slices.SortFunc(all.Skipped, func(a, b finding.Unseen) int { return strings.Compare(a.Path, b.Path) })
	return all, ctx.Err()
}

// list tells which files are to be looked at.
func list(ctx context.Context, fsys fs.FS, langs Languages) (files []string, skipped []finding.Unseen, err error) {
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
		if !slices.Contains(langs, LanguageOf(name)) {
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
func look(fsys fs.FS, name string, p *proxycompat.Profile) Result {
	src, err := fs.ReadFile(fsys, name)
	reason := ""
	switch {
	case err != nil:
		reason = reasonOf(err)
	case len(src) > maxSize: // it has grown
		reason = "too large"
	case bytes.IndexByte(src[:min(len(src), 8000)], 0) >= 0:
		reason = "not text"
	case minified(src):
		reason = "minified"
	default:
		return Result{Findings: Scan(p, name, src), Directives: Directives(name, src)}
	}
	return Result{Skipped: []finding.Unseen{{Path: name, Reason: reason}}}
}

// minified reports whether the lines are too long for code that a person wrote.
func minified(src []byte) bool {
	return len(src) > 10_000 && len(src)/(bytes.Count(src, []byte("\n"))+1) > 500
}
