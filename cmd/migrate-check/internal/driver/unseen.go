package driver

import (
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rediscalls"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/load"
)

// unseen lists the packages and files that could not be analyzed by types.
func (m *merger) unseen() (all []finding.Unseen) {
	m.known = map[finding.Place]bool{}
	for _, f := range m.all {
		m.known[finding.Place{Path: f.Path, Line: f.Line}] = true
	}
	for _, path := range slices.Sorted(maps.Keys(m.broken)) {
		u := finding.Unseen{Path: path, Reason: m.broken[path].Reason, Scanned: len(m.broken[path].Files) > 0}
		for _, file := range m.broken[path].Files {
			u.Scanned = m.scanGo(file, m.shown(file), "") && u.Scanned
		}
		all = append(all, u)
	}
	for _, file := range slices.Sorted(maps.Keys(m.notBuilt)) {
		if m.built[file] || !strings.HasSuffix(file, ".go") || !importsClient(file) {
			continue
		}
		if ofTests(file) && m.cfg.Tests == TestsOff {
			continue
		}
		all = append(all, finding.Unseen{
			Path: m.notBuilt[file], Reason: "imports a Redis client, and is not built with these tags on this system",
			Scanned: m.scanGo(file, m.notBuilt[file], finding.NotBuilt),
		})
	}
	for _, key := range slices.Sorted(maps.Keys(m.failed)) {
		all = append(all, m.failed[key])
	}
	return all
}

// shown is the path of a file relative to the root.
func (m *merger) shown(file string) string {
	if short, ok := load.Within(m.root, file); ok {
		return short
	}
	return filepath.ToSlash(file)
}

// importsClient reports whether a file imports a client library, or cannot be read.
func importsClient(file string) bool {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if parsed == nil || err != nil {
		return true
	}
	for _, spec := range parsed.Imports {
		if path, err := strconv.Unquote(spec.Path.Value); err == nil && rediscalls.IsClient(path) {
			return true
		}
	}
	return false
}
