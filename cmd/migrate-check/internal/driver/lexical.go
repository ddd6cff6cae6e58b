package driver

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/directive"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/lexical"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/load"
)

// scanGo searches a Go file that was not type-checked by words, and reports whether it could read it.
func (m *merger) scanGo(file, shown string, label finding.Label) bool {
	if !slices.Contains(m.cfg.Languages, lexical.Go) {
		return false
	}
	src, err := os.ReadFile(file)
	if err != nil {
		return false
	}
	lines := map[int]bool{}
	for _, f := range slices.Concat(lexical.Scan(m.cfg.Profile, shown, src), byName(m.cfg.Profile, shown, src)) {
		if lines[f.Line] && f.Rule == transactionRule || m.known[finding.Place{Path: f.Path, Line: f.Line}] {
			continue // already found
		}
		lines[f.Line] = true
		if label != "" {
			f.Labels = append(f.Labels, label)
		}
		m.keepLexical(f)
	}
	for _, d := range lexical.Directives(shown, src) {
		m.keepDirective(d)
	}
	return true
}

// keepDirective keeps a directive, unless it is known.
func (m *merger) keepDirective(d *directive.Directive) {
	if _, known := m.directives[d.Place]; !known {
		m.directives[d.Place] = d
	}
}

// scanOthers searches the files of other languages in the folders of the patterns.
func (m *merger) scanOthers(ctx context.Context) error {
	languages := slices.DeleteFunc(slices.Clone(m.cfg.Languages), func(l lexical.Language) bool { return l == lexical.Go })
	if len(languages) == 0 {
		return nil
	}
	base, err := filepath.Abs(m.cfg.Dir)
	if err != nil {
		return err
	}
	if m.root == "" {
		m.root = base
	}
	var errs error
	for _, pattern := range m.cfg.Patterns {
		dir, below, ok := folder(base, pattern)
		if !ok {
			continue // an import path, or the go command has reported a missing folder
		}
		m.cfg.Progress("looking at other languages: " + dir)
		prefix, ok := load.Within(m.root, dir)
		if !ok {
			prefix = filepath.ToSlash(dir)
		}
		found, err := lexical.Walk(ctx, only(os.DirFS(dir), below), m.cfg.Profile, languages)
		errs = errors.Join(errs, err)
		m.files += found.Files
		for _, f := range found.Findings {
			f.Path = path.Join(prefix, f.Path)
			m.keepLexical(f)
		}
		for _, d := range found.Directives {
			d.Place.Path = path.Join(prefix, d.Place.Path)
			m.keepDirective(d)
		}
		for _, p := range found.Skipped {
			p.Path = path.Join(prefix, p.Path)
			m.passed = append(m.passed, p)
		}
		for _, u := range found.Unread {
			if u.Path = path.Join(prefix, u.Path); !isTest(u.Path) || m.cfg.Tests == TestsFail {
				m.unread = append(m.unread, u)
			}
		}
	}
	return errs
}

func (m *merger) keepLexical(f finding.Finding) {
	if m.cfg.Rules != nil && !m.cfg.Rules(f.Rule) {
		return
	}
	if isTest(f.Path) && !f.Has(finding.Test) {
		f.Labels = append(f.Labels, finding.Test)
	}
	if f.Has(finding.Test) && m.cfg.Tests == TestsOff {
		return
	}
	f.Uncounted = f.Uncounted || !m.cfg.LowCounts || f.Has(finding.Test) && m.cfg.Tests == TestsWarn
	f.Statement = f.Message
	m.keep(f)
}

// testFolder is the name of a folder of tests: tests, __tests__, Acme.Store.Tests, integration-test, androidTest.
var testFolder = regexp.MustCompile(`^(?:[tT]ests?|__tests__|[sS]pecs?|testdata|e2e|.+\.(?:Tests?|Specs?)|` +
	`(?:integration|functional|acceptance|system|smoke|unit|android|e2e)[-_]?[tT]ests?)$`)

// isTest reports whether a path is that of a test, by the conventions of the languages.
func isTest(file string) bool {
	for part := range strings.SplitSeq(path.Dir(file), "/") {
		if testFolder.MatchString(part) {
			return true
		}
	}
	name := strings.TrimSuffix(path.Base(file), path.Ext(file))
	for _, ending := range []string{"_test", "-test", ".test", ".spec", "_spec", "-spec", "Test", "Tests", "IT"} {
		if strings.HasSuffix(name, ending) {
			return true
		}
	}
	return strings.HasPrefix(name, "test_") || name == "conftest"
}

// only is a folder, without its subfolders unless below is set.
func only(fsys fs.FS, below bool) fs.FS {
	if below {
		return fsys
	}
	return flat{fsys}
}

type flat struct{ fs.FS }

func (f flat) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(f.FS, name)
	return slices.DeleteFunc(entries, fs.DirEntry.IsDir), err
}
