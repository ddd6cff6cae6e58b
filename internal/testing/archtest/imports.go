package archtest

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// checkImports reports every import that the rules do not permit.
func checkImports(t *tree, rules []rule) []string {
	var findings []string
	packages := t.packages()
	for _, pkg := range slices.Sorted(maps.Keys(packages)) {
		files := packages[pkg]
		r, ok := ruleFor(pkg, rules)
		if !ok {
			findings = append(findings, t.finding(files[0], files[0].syntax.Package,
				"no rule says what package %s may import: add it to houseRules", pkg))
			continue
		}
		for _, f := range files {
			for _, spec := range f.syntax.Imports {
				imported, err := strconv.Unquote(spec.Path.Value)
				if err != nil || !r.permits(pkg, imported) {
					findings = append(findings, t.finding(f, spec.Pos(),
						"%s must not import %s: %s", pkg, imported, r.why))
				}
			}
		}
	}
	return findings
}

func ruleFor(pkg string, rules []rule) (rule, bool) {
	for _, r := range rules {
		if covers(r.pkg, pkg) {
			return r, true
		}
	}
	return rule{}, false
}

// permits reports whether pkg, which r covers, may import this path.
func (r rule) permits(pkg, imported string) bool {
	own, inside := strings.CutPrefix(imported, module+"/")
	if !inside && standard(imported) {
		return true
	}
	if inside && below(own, pkg) && !strings.HasSuffix(own, "test") {
		// A package may be split into packages below it. Its test suite is a separate package.
		return true
	}
	for _, may := range r.may {
		if !inside && (imported == may || below(imported, may)) {
			return true
		}
		if inside && covers(may, own) {
			return true
		}
	}
	return false
}

// covers matches a folder of the module with a pattern of a rule.
func covers(pattern, pkg string) bool {
	if pattern == "..." {
		return true
	}
	if parent, ok := strings.CutSuffix(pattern, "/..."); ok {
		return pkg == parent || below(pkg, parent)
	}
	if parent, ok := strings.CutSuffix(pattern, "/*"); ok {
		return path.Dir(pkg) == parent
	}
	return pattern == pkg
}

func below(name, parent string) bool { return strings.HasPrefix(name, parent+"/") }

// standard reports whether a path belongs to the standard library: its first element has no dot. The module
// itself is not standard, and neither is "C".
func standard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".") && imported != "C"
}
