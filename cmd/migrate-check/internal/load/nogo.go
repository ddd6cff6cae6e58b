package load

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// noGo reports whether all patterns are folders without any Go, in which the go command would
// only complain of a missing module.
func noGo(cfg Config) bool {
	base, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return false
	}
	for _, pattern := range cfg.Patterns {
		dir, _, ok := Folder(base, pattern)
		if !ok || HasModule(dir) || hasGo(dir) {
			return false
		}
	}
	return true
}

// Folder is where a pattern of packages points to from a folder on, and whether it means the
// folders below, too. It is not ok for an import path.
func Folder(base, pattern string) (dir string, below, ok bool) {
	dir, below = strings.CutSuffix(pattern, "...")
	if !strings.HasPrefix(pattern, ".") && !filepath.IsAbs(dir) {
		return "", below, false
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(base, dir)
	}
	return filepath.Clean(dir), below, true
}

// HasModule reports whether a folder is in a module, or in a workspace.
func HasModule(dir string) bool {
	_, inModule := Above(dir, "go.mod")
	_, inWorkspace := Above(dir, "go.work")
	return inModule || inWorkspace
}

// Above is the folder, from dir upwards, that has a file of a name.
func Above(dir, name string) (string, bool) {
	for {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return dir, true
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", false
		}
		dir = up
	}
}

// hasGo reports whether a file of Go is in a folder, or below it.
func hasGo(dir string) bool {
	found := false
	err := filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if strings.HasSuffix(name, ".go") {
			found = true
			return filepath.SkipAll
		}
		return nil
	})
	return found || err != nil
}
