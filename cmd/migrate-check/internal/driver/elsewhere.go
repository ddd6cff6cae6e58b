package driver

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
)

// toolkit is this module. Its legacy path sends WATCH on purpose, until the last step of a migration.
const toolkit = "github.com/unwatch/unwatch"

// elsewhere has the findings that count and are outside of the check: in dependencies, in packages of the module that no
// pattern names, and in generated files. The keys name the code.
type elsewhere map[string]*unlisted

type unlisted struct {
	reason string // with the number of findings
	at     map[finding.Place]bool
}

func (e elsewhere) add(code, reason string, f *finding.Finding) {
	if e[code] == nil {
		e[code] = &unlisted{reason, map[finding.Place]bool{}}
	}
	at := f.Place
	at.Message = f.Rule + f.Message
	e[code].at[at] = true
}

// all lists the code, with the number of findings and the flag that lists them.
func (e elsewhere) all() (all []finding.Unseen) {
	for _, code := range slices.Sorted(maps.Keys(e)) {
		n := len(e[code].at)
		count := fmt.Sprintf("%d findings", n)
		if n == 1 {
			count = "1 finding"
		}
		all = append(all, finding.Unseen{Path: code, Reason: fmt.Sprintf(e[code].reason, count)})
	}
	return all
}

// dependent counts a finding that -scope module does not list.
func (b *build) dependent(l *located) {
	if !l.Counts() || isToolkit(l.pkg) {
		return
	}
	flag := "-scope deps"
	if !b.cfg.Reach {
		flag = "-scope all"
	}
	m := l.pkg.Module
	if m == nil || m.Main {
		b.elsewhere.add(l.pkg.PkgPath, "your code imports it, and no pattern names it: %s; name it, or list them with "+flag, &l.Finding)
		return
	}
	code := m.Path
	if m.Version != "" {
		code += " " + m.Version
	}
	b.elsewhere.add(code, "your code uses it, and it uses Redis itself: %s; list them with "+flag, &l.Finding)
}

func isToolkit(pkg *packages.Package) bool {
	return pkg.Module != nil && (pkg.Module.Path == toolkit || strings.HasPrefix(pkg.Module.Path, toolkit+"/"))
}
