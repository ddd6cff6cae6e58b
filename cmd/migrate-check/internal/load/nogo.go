package load

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// noGo reports whether all patterns are folders without a Go file. There the go command would
// only report a missing module.
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

// Folder returns the folder of a pattern relative to another folder, and whether the pattern includes the
// folders below. ok is false for an import path.
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

// Above finds the nearest folder, from dir upwards, that has a file of a name.
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

// hasGo reports whether a Go file is in a folder, or below it.
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
