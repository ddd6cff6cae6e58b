package driver

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/load"
)

// modulesBelow are the folders of the modules below the patterns that end in "...". The
// go command leaves them out.
func modulesBelow(base string, patterns []string) (dirs []string, err error) {
	for _, pattern := range patterns {
		start, below, ok := load.Folder(base, pattern)
		if !ok || !below {
			continue
		}
		err = filepath.WalkDir(start, func(name string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && name != start && passedBy(d.Name()):
				return filepath.SkipDir
			case d.Name() == "go.mod" && !d.IsDir() && filepath.Dir(name) != filepath.Clean(base):
				dirs = append(dirs, filepath.Dir(name))
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs), nil
}

// passedBy reports whether the search for modules skips folders of a name.
func passedBy(name string) bool {
	return name == "vendor" || name == "testdata" || name == "node_modules" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}

var client = regexp.MustCompile(`(?m)^\s*(?:require\s+)?\S*(?:go-redis|redis\.v\d|redigo|rueidis|valkey-go|radix|gogf/gf|go-zero)\S*\s+v`)

// requires reports whether a module requires a Redis client.
func requires(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	return err != nil || client.Match(text)
}

// modules returns the folders of the check: that of the configuration, and the modules below it
// with -nested, or if there is none around it. All paths are relative to one root. The
// report lists the other modules.
func (m *merger) modules() (dirs []string, err error) {
	base, err := filepath.Abs(m.cfg.Dir)
	if err != nil {
		return nil, err
	}
	below, err := modulesBelow(base, m.cfg.Patterns)
	if err != nil {
		return nil, err
	}
	if !load.HasModule(base) && len(below) > 0 {
		m.root = base
		return below, nil
	}
	if m.cfg.Nested {
		var ok bool
		if m.root, ok = load.Above(base, "go.mod"); ok {
			return append([]string{m.cfg.Dir}, below...), nil
		}
		m.root = base // of a workspace: all its packages are in modules
		return below, nil
	}
	m.others = slices.DeleteFunc(below, func(dir string) bool { return !requires(dir) })
	return []string{m.cfg.Dir}, nil
}

// otherModules lists the modules outside of the check.
func (m *merger) otherModules() (all []finding.Unseen) {
	for _, dir := range m.others {
		if m.members[dir] {
			continue // of the workspace
		}
		all = append(all, finding.Unseen{Path: m.shown(dir), Reason: "a module of its own, that requires a Redis client: -nested looks at it, too"})
	}
	return all
}
