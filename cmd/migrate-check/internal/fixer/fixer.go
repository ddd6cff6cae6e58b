package fixer

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
)

// Options are how changes are applied.
type Options struct {
	// Root is the directory that the paths of the changes start from.
	Root string
	// Diff, if it is given, gets what would change, as a unified diff. No file is written.
	Diff io.Writer
	// Builds are those that the packages were looked at in, and have to compile in. None stands for
	// the one without flags.
	Builds []Build
	// Checked, if it is given, is called when it is known what compiles, and nothing is written yet.
	Checked func()
}

// Build is a way to build the packages.
type Build struct {
	Flags []string // as "-tags=x"
	Env   []string // of the go command; none: that of this program
}

// Report is what became of the changes.
type Report struct {
	Applied []finding.Fix
	Dropped []Dropped
	Files   []string // that were changed, or would be: with slashes, from the root
}

// Dropped is a change that was not applied.
type Dropped struct {
	Fix finding.Fix
	Why string
}

// Apply applies changes. An error means that something could not be read or written; the files are
// then as they were.
func Apply(ctx context.Context, fixes []finding.Fix, o Options) (Report, error) {
	r := &run{Options: o, ctx: ctx, old: map[string]*file{}, changed: map[string][]byte{}}
	if len(r.Builds) == 0 {
		r.Builds = []Build{{}}
	}
	perDir := map[string][]finding.Fix{}
	var seen []finding.Fix
	for _, fix := range fixes {
		if slices.ContainsFunc(seen, func(f finding.Fix) bool { return f.Message == fix.Message && slices.Equal(f.Edits, fix.Edits) }) {
			continue // of a package with tests there are two
		}
		seen = append(seen, fix)
		dir, why := r.fits(fix)
		if why != "" {
			r.drop(fix, why)
			continue
		}
		perDir[dir] = append(perDir[dir], fix)
	}
	for _, dir := range slices.Sorted(maps.Keys(perDir)) {
		if err := r.pkg(dir, perDir[dir]); err != nil {
			return Report{}, err
		}
	}
	slices.SortFunc(r.Applied, func(a, b finding.Fix) int {
		return cmp.Or(cmp.Compare(a.Edits[0].Path, b.Edits[0].Path), cmp.Compare(a.Edits[0].Start, b.Edits[0].Start))
	})
	r.Files = slices.Sorted(maps.Keys(r.changed))
	if o.Checked != nil {
		o.Checked()
	}
	if o.Diff == nil {
		return r.Report, r.write()
	}
	for _, name := range r.Files {
		if _, err := io.WriteString(o.Diff, Diff(name, r.old[name].text, r.changed[name])); err != nil {
			return Report{}, err
		}
	}
	return r.Report, nil
}

// run is one Apply.
type run struct {
	Options
	Report
	ctx     context.Context
	old     map[string]*file
	changed map[string][]byte
}

func (r *run) drop(fix finding.Fix, why string) { r.Dropped = append(r.Dropped, Dropped{fix, why}) }

// fits tells in which directory a change is, or why it cannot be applied.
func (r *run) fits(fix finding.Fix) (dir, why string) {
	if len(fix.Edits) == 0 {
		return "", "it changes nothing"
	}
	for i, e := range fix.Edits {
		if !filepath.IsLocal(filepath.FromSlash(e.Path)) {
			return "", fmt.Sprintf("%s is not below %s", e.Path, r.Root)
		}
		if i > 0 && path.Dir(e.Path) != dir {
			return "", "it changes several packages"
		}
		dir = path.Dir(e.Path)
		f, err := r.read(e.Path)
		switch {
		case err != nil:
			return "", err.Error()
		case f.generated:
			return "", e.Path + " is generated"
		case f.mode&0o200 == 0:
			return "", e.Path + " is read-only"
		case slices.Contains(strings.Split(e.Path, "/"), "vendor"):
			return "", e.Path + " is a copy of somebody else's"
		case e.Start < 0 || e.End < e.Start || e.End > len(f.text) || !f.was(fix.Seen[e.Path]):
			return "", e.Path + " has changed since it was looked at"
		}
		for _, other := range fix.Edits[:i] {
			if other.Path == e.Path && overlap(e, other) {
				return "", "parts of it are in each other's way"
			}
		}
	}
	return dir, ""
}

// pkg applies the changes of a package: all of them, or as many as compile.
func (r *run) pkg(dir string, fixes []finding.Fix) error {
	var taken []finding.Fix
	for _, fix := range fixes {
		if other, ok := inTheWay(taken, fix); ok {
			r.drop(fix, fmt.Sprintf("it is in the way of another change, %q", other.Message))
			continue
		}
		taken = append(taken, fix)
	}
	good, texts, err := r.most(dir, nil, nil, taken)
	if err != nil {
		return err
	}
	r.Applied = append(r.Applied, good...)
	maps.Copy(r.changed, texts)
	return nil
}

// most adds as many changes to those that compile as do with them. It looks for the
// others by halves, as a package takes its time.
func (r *run) most(dir string, good []finding.Fix, texts map[string][]byte, more []finding.Fix) ([]finding.Fix, map[string][]byte, error) {
	if len(more) == 0 {
		return good, texts, nil
	}
	all := slices.Concat(good, more)
	next, why, err := r.try(dir, all)
	switch {
	case err != nil:
		return nil, nil, err
	case why == "":
		return all, next, nil
	case len(more) == 1:
		r.drop(more[0], why)
		return good, texts, nil
	}
	half := len(more) / 2
	if good, texts, err = r.most(dir, good, texts, more[:half]); err != nil {
		return nil, nil, err
	}
	return r.most(dir, good, texts, more[half:])
}
