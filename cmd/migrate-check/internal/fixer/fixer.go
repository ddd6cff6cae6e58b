// Package fixer applies changes to files, or shows them as a diff. The fix driver of golang.org/x/tools cannot serve: it
// is internal, and the public commands around it load the packages again in one build, and do not type-check the result.
//
// The fixer drops a change that overlaps with another one, or concerns a generated file or one that has changed,
// and reports it. It applies the others of a package in memory, formats the files, removes unused imports, and
// type-checks the package with its tests in each build. If that fails, it drops the changes that break a build. Each
// file is written atomically and keeps its mode, its owner and its line endings.
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

	"github.com/aymanbagabas/go-udiff"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/load"
)

// Options configure Apply.
type Options struct {
	// Root is the directory of the relative paths of the changes.
	Root string
	// Diff gets a unified diff, unless it is nil. No file is written then.
	Diff io.Writer
	// Builds are those of the analysis: their tags and systems. The packages have to compile in each. Empty means one
	// for this system, without tags.
	Builds []load.Config
	// Checked is called after the type check, before anything is written. It may be nil.
	Checked func()
}

// Report lists the changes that were applied and dropped.
type Report struct {
	Applied []finding.Fix
	Dropped []Dropped
	Files   []string // changed, or with Diff to be changed: slash-separated, relative to the root
}

// Dropped is a change that was not applied.
type Dropped struct {
	Fix finding.Fix
	Why string
}

// Apply applies changes. After an error of reading or writing, the files are as before.
func Apply(ctx context.Context, fixes []finding.Fix, o Options) (Report, error) {
	r := &run{Options: o, ctx: ctx, old: map[string]*file{}, changed: map[string][]byte{}}
	if len(r.Builds) == 0 {
		r.Builds = []load.Config{{}}
	}
	perDir := map[string][]finding.Fix{}
	for i, fix := range fixes {
		equal := func(f finding.Fix) bool { return f.Message == fix.Message && slices.Equal(f.Edits, fix.Edits) }
		if slices.ContainsFunc(fixes[:i], equal) {
			continue // a package is analyzed again with its tests
		}
		dir, why := r.fits(fix)
		if why == "" {
			why = overlaps(perDir[dir], fix)
		}
		if why != "" {
			r.drop(fix, why)
			continue
		}
		perDir[dir] = append(perDir[dir], fix)
	}
	for _, dir := range slices.Sorted(maps.Keys(perDir)) {
		good, texts, err := r.most(dir, nil, nil, perDir[dir])
		if err != nil {
			return Report{}, err
		}
		r.Applied = append(r.Applied, good...)
		maps.Copy(r.changed, texts)
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
		end := ""
		if strings.Contains(name, " ") {
			end = "\t" // patch takes the text behind a space for a time
		}
		diff := udiff.Unified("a/"+name+end, "b/"+name+end, string(r.old[name].text), string(r.changed[name]))
		if _, err := io.WriteString(o.Diff, diff); err != nil {
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

// fits returns the directory of a change, or the reason why it cannot be applied.
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
		sum := fix.Seen[e.Path]
		switch {
		case err != nil:
			return "", err.Error()
		case f.generated:
			return "", e.Path + " is generated"
		case f.mode&0o200 == 0:
			return "", e.Path + " is read-only"
		case slices.Contains(strings.Split(e.Path, "/"), "vendor"):
			return "", e.Path + " is a vendored copy"
		case e.Start < 0 || e.End < e.Start || e.End > len(f.text) || sum != "" && sum != finding.Sum(f.text):
			return "", e.Path + " has changed since it was looked at"
		case slices.ContainsFunc(fix.Edits[:i], func(other finding.Edit) bool { return overlap(e, other) }):
			return "", "parts of it are in each other's way"
		}
	}
	return dir, ""
}

// overlaps says which of some changes overlaps with another one; "" if none does.
func overlaps(taken []finding.Fix, fix finding.Fix) string {
	for _, other := range taken {
		for _, a := range other.Edits {
			if slices.ContainsFunc(fix.Edits, func(b finding.Edit) bool { return overlap(a, b) }) {
				return fmt.Sprintf("it is in the way of another change, %q", other.Message)
			}
		}
	}
	return ""
}

// overlap reports whether two edits change the same text. Insertions at one place do not.
func overlap(a, b finding.Edit) bool {
	if a.Path != b.Path || a.Start == a.End && b.Start == b.End {
		return false
	}
	return a == b || a.Start < b.End && b.Start < a.End
}

// most adds as many changes as still compile. It looks for the others by halves, because a type check is slow.
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
