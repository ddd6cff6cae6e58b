package driver

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/load"
)

// notLoaded records the error of the go command for a build.
func (m *merger) notLoaded(build load.Config, err error) {
	u := finding.Unseen{Path: strings.Join(build.Patterns, " "), Reason: err.Error()}
	if build.Dir != m.cfg.Dir {
		u.Path = build.Dir
	}
	m.failed[u.Path+u.Reason] = u
	m.lost = true
}

// unloaded searches Go files by words that are in no loaded package, and returns those that import a client. There is no
// go.mod, or the go command failed, or no build has any file of their folder, so that ./... does not match it.
func (m *merger) unloaded(ctx context.Context, dirs []string) (all []finding.Unseen, err error) {
	base, err := filepath.Abs(m.cfg.Dir)
	if err != nil {
		return nil, err
	}
	lost, known := m.lost || !load.HasModule(base), map[string]bool{}
	for _, broken := range m.broken {
		lost = lost || len(broken.Files) == 0
		for _, file := range broken.Files {
			known[file] = true
		}
	}
	reason, label := "imports a Redis client, and is in no package that could be loaded", finding.Label("")
	if !lost {
		label, reason = finding.NotBuilt, "imports a Redis client, and is in a folder of which nothing is built with these tags on this system"
	}
	if m.root == "" {
		m.root = base
	}
	for _, pattern := range m.cfg.Patterns {
		start, below, ok := folder(base, pattern)
		if !ok {
			continue
		}
		m.cfg.Progress("looking at Go files without a package: " + start)
		err := filepath.WalkDir(start, func(name string, d fs.DirEntry, err error) error {
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil:
				return err
			case d.IsDir() && name != start && (!below || passedBy(d.Name()) || isModule(name) && !slices.Contains(dirs, name)):
				return filepath.SkipDir
			case d.IsDir() || !strings.HasSuffix(name, ".go") || passedBy(d.Name()) || ofTests(name) && m.cfg.Tests == TestsOff:
				return nil
			case m.built[name] || m.notBuilt[name] != "" || known[name] || !importsClient(name):
				return nil
			}
			all = append(all, finding.Unseen{
				Path: m.shown(name), Reason: reason,
				Scanned: m.scanGo(name, m.shown(name), label),
			})
			known[name] = true
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// folder is load.Folder for patterns of existing folders.
func folder(base, pattern string) (dir string, below, ok bool) {
	if dir, below, ok = load.Folder(base, pattern); !ok {
		return "", below, false
	}
	info, err := os.Stat(dir)
	return dir, below, err == nil && info.IsDir()
}

func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}
