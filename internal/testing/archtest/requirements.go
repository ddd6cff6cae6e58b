package archtest

import (
	"fmt"
	"slices"
	"strings"
)

// directRequirements lists the modules that a go.mod requires and does not
// mark as indirect, sorted, without versions.
func directRequirements(gomod string) []string {
	var modules []string
	inBlock := false
	for line := range strings.Lines(gomod) {
		line = strings.TrimSpace(line)
		switch line {
		case "require (":
			inBlock = true
			continue
		case ")":
			inBlock = false
			continue
		}
		rest, single := strings.CutPrefix(line, "require ")
		fields := strings.Fields(rest)
		if !inBlock && !single || len(fields) < 2 || fields[0] == "//" || strings.HasSuffix(line, "// indirect") {
			continue
		}
		modules = append(modules, fields[0])
	}
	slices.Sort(modules)
	return modules
}

// checkRequirements compares go.mod with the golden list, and requires a reason for every module in the
// contributor's guide.
func checkRequirements(gomod, golden, contributing string) []string {
	have, want := directRequirements(gomod), strings.Fields(golden)
	var findings []string
	for _, m := range have {
		if !slices.Contains(want, m) {
			findings = append(findings, fmt.Sprintf(
				"go.mod: new requirement %s: a dependency is a decision: "+
					"add the reason to CONTRIBUTING.md, then the module to requirements.golden", m))
		}
		if !strings.Contains(contributing, "`"+m+"`") {
			findings = append(findings, fmt.Sprintf("CONTRIBUTING.md: no reason for the requirement `%s`", m))
		}
	}
	for _, m := range want {
		if !slices.Contains(have, m) {
			findings = append(findings, fmt.Sprintf(
				"go.mod: %s is no longer required: remove it from requirements.golden and CONTRIBUTING.md", m))
		}
	}
	return findings
}
