package lexical

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path"
	"regexp"
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
	Skipped    []finding.Unseen // code of others, and built files
	Unread     []finding.Unseen // files that may be of interest, and could not be searched
	Files      int              // that were searched
}

// maxSize limits the size of a file, in bytes.
const maxSize = 2 << 20

// passedBy are the folders without own code, and the reason if the report lists them.
var passedBy = map[string]string{
	".git": "", ".hg": "", ".svn": "", "node_modules": "dependencies", "bower_components": "dependencies",
	"vendor": "dependencies", "third_party": "dependencies", "site-packages": "dependencies", ".venv": "dependencies",
	"venv": "dependencies",
	".tox": "dependencies", "__pycache__": "built", ".gradle": "built", "target": "built", "build": "built", "dist": "built",
	".next": "built",
}

// Walk searches all files of some languages below the root of fsys. Paths have slashes and begin at the root. If ctx
// ends, Walk returns its error and the findings so far.
func Walk(ctx context.Context, fsys fs.FS, p *proxycompat.Profile, langs Languages) (Result, error) {
	files, all, err := list(ctx, fsys, langs)
	all.Files = len(files)
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
		all.Skipped, all.Unread = append(all.Skipped, r.Skipped...), append(all.Unread, r.Unread...)
	}
	finding.Sort(all.Findings)
	for _, list := range [][]finding.Unseen{all.Skipped, all.Unread} {
		slices.SortFunc(list, func(a, b finding.Unseen) int { return strings.Compare(a.Path, b.Path) })
	}
	return all, ctx.Err()
}

// list tells which files are to be looked at.
func list(ctx context.Context, fsys fs.FS, langs Languages) (files []string, others Result, err error) {
	pass := func(path, reason string) {
		others.Skipped = append(others.Skipped, finding.Unseen{Path: path, Reason: reason})
	}
	unread := func(path, reason string) {
		others.Unread = append(others.Unread, finding.Unseen{Path: path, Reason: reason})
	}
	err = fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			if name == "." {
				return err
			}
			unread(name, reasonOf(err))
			return fs.SkipDir
		}
		if entry.IsDir() {
			if reason, ok := passedBy[entry.Name()]; ok && name != "." {
				if reason != "" {
					pass(name, reason)
				}
				return fs.SkipDir
			}
			return nil
		}
		if language := unsearched[path.Ext(name)]; language != "" && namesRedis(fsys, name) {
			unread(name, language+" is not searched, and the file names Redis: migrate-check live counts its commands on a server")
			return nil
		}
		if !slices.Contains(langs, LanguageOf(name)) {
			return nil
		}
		switch info, err := entry.Info(); {
		case err != nil:
			unread(name, reasonOf(err))
		case !info.Mode().IsRegular():
			pass(name, "not a regular file")
		case info.Size() > maxSize:
			unread(name, tooLarge)
		case strings.Contains(path.Base(name), ".min."):
			pass(name, "minified")
		default:
			files = append(files, name)
		}
		return nil
	})
	return files, others, err
}

// unsearched are languages with Redis clients that no search knows, by the ends of their files.
var unsearched = map[string]string{
	".c": "C", ".cc": "C++", ".cpp": "C++", ".clj": "Clojure", ".dart": "Dart", ".ex": "Elixir", ".exs": "Elixir",
	".erl": "Erlang", ".fs": "F#", ".groovy": "Groovy", ".pl": "Perl", ".pm": "Perl", ".rs": "Rust", ".scala": "Scala",
	".swift": "Swift", ".vb": "Visual Basic",
}

// Not a part of "redistribute", which licenses have.
var redisWord = regexp.MustCompile(`[rR]edis(?:[^a-z]|$)|REDIS(?:[^A-Z]|$)`)

// namesRedis reports whether a file has the name of Redis, or cannot be read.
func namesRedis(fsys fs.FS, name string) bool {
	src, err := fs.ReadFile(fsys, name)
	return err != nil || redisWord.Match(src)
}

const tooLarge = "larger than 2 MiB, which is not searched"

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
		reason = tooLarge
	case bytes.IndexByte(src[:min(len(src), 8000)], 0) >= 0:
		reason = "not text, which is not searched"
	case minified(src):
		return Result{Skipped: []finding.Unseen{{Path: name, Reason: "minified"}}}
	default:
		return Result{Findings: Scan(p, name, src), Directives: Directives(name, src)}
	}
	return Result{Unread: []finding.Unseen{{Path: name, Reason: reason}}}
}

// minified reports whether the lines are too long for code that a person wrote.
func minified(src []byte) bool {
	return len(src) > 10_000 && len(src)/(bytes.Count(src, []byte("\n"))+1) > 500
}
