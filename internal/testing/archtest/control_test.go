package archtest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Negative controls: in a tree that breaks every rule, each check reports each violation, and nothing else.

func TestBrokenImportsAreReported(t *testing.T) {
	equal(t, checkImports(loadTree(t, "testdata/broken"), houseRules()), []string{
		"cas/cas.go:5: cas must not import C: the legacy path",
		"cas/cas.go:8: cas must not import github.com/unwatch/unwatch/lockupdate: the legacy path",
		"cmd/tool/main.go:1: no rule says what package cmd/tool may import",
		"lockupdate/lockupdate.go:6: lockupdate must not import golang.org/x/tools/go/packages: the new path",
		"rmw/rmw.go:7: rmw must not import github.com/redis/go-redis/v9: the contract",
		"rmw/rmw.go:8: rmw must not import github.com/unwatch/unwatch/rmw/rmwtest: the contract",
		"state/state.go:2: no rule says what package state may import",
		"stranger/stranger.go:4: no rule says what package stranger may import",
	})
}

func TestGlobalsAreReported(t *testing.T) {
	equal(t, checkState(loadTree(t, "testdata/broken")), []string{
		"state/state.go:9: no package-level channels",
		"state/state.go:11: no package-level channels",
		"state/state.go:13: no package-level timers",
		"state/state.go:15: no package-level goroutines",
		"state/state.go:31: no init functions",
		"state/state.go:31: no package-level map that is written to (counts)",
		"state/state.go:34: no package-level map that is written to (names)",
		"state/state.go:35: no package-level map that is written to (asked)",
		"state/state.go:36: no package-level map that is written to (copied)",
	})
}

func TestSleepsAreReported(t *testing.T) {
	equal(t, checkSleep(loadTree(t, "testdata/broken")), []string{
		"rmw/rmw_test.go:10: a test must not sleep",
	})
}

func TestProgramsAreReported(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"tool": "\x7fELF\x02\x01", "tool.exe": "MZ\x90\x00\x03", "notes": "MZ is text", "empty": "", "pkg.test": "\x7fELF",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	findings, err := checkPrograms(dir)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, findings, []string{filepath.Join(dir, "tool") + ": a built program", filepath.Join(dir, "tool.exe") + ": a built program"})
}

func TestScriptsAreReported(t *testing.T) {
	const mode = "redis.replicate_commands()\n"
	dir := t.TempDir()
	for name, text := range map[string]string{
		"bad.lua":    "redis.call('SET', KEYS[1], 'v', 'PX', 5)",
		"late.lua":   "redis.pcall('GET', KEYS[1])\n" + mode + "redis.call('PEXPIRE', KEYS[1], 5)",
		"good.lua":   mode + "redis.call('SET', KEYS[1], 'v', 'PX', 5)",
		"none.lua":   "redis.call('PERSIST', KEYS[1])",
		"script.txt": "redis.call('PEXPIRE', KEYS[1], 5)",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	findings, err := checkScripts(dir)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, findings, []string{filepath.Join(dir, "bad.lua") + ": sets an expiry", filepath.Join(dir, "late.lua") + ": sets an expiry"})
}

func TestLongFilesAreReported(t *testing.T) {
	equal(t, checkSize(loadTree(t, "testdata/broken"), 30), []string{
		"state/state.go: 39 lines, at most 30",
	})
}

func TestLargeCoreIsReported(t *testing.T) {
	broken := loadTree(t, "testdata/broken")
	equal(t, checkCore(broken, "lockupdate", 7), []string{"lockupdate: 8 lines with its inner packages, at most 7"})
	equal(t, checkCore(broken, "lockupdate", 7, "lockupdate/redlock"), nil)
}

func TestMissingPackageCommentsAreReported(t *testing.T) {
	equal(t, checkDocs(loadTree(t, "testdata/broken")), []string{
		`cmd/tool: no package comment that starts with ""`,
		`lockupdate/redlock: no package comment that starts with "Package redlock "`,
	})
}

func TestChangedRequirementsAreReported(t *testing.T) {
	gomod := `module m

require example.com/single v1.0.0

require (
	example.com/known v1.2.3
	// a comment
	example.com/new v1.0.0 // for something
	example.com/deep v1.0.0 // indirect
)
`
	contributing := "`example.com/known` because; `example.com/single` because; example.com/new has no reason"
	equal(t, checkRequirements(gomod, "example.com/gone\nexample.com/known\nexample.com/single\n", contributing), []string{
		"go.mod: new requirement example.com/new: a dependency is a decision: add the reason to CONTRIBUTING.md",
		"CONTRIBUTING.md: no reason for the requirement `example.com/new`",
		"go.mod: example.com/gone is no longer required",
	})
}

func TestPatterns(t *testing.T) {
	tests := []struct {
		pattern, pkg string
		want         bool
	}{
		{"rmw", "rmw", true},
		{"rmw", "rmw/rmwtest", false},
		{"domains/*", "domains/chat", true},
		{"domains/*", "domains", false},
		{"domains/*", "domains/chat/codec", false},
		{"cmd/x/...", "cmd/x", true},
		{"cmd/x/...", "cmd/x/a/b", true},
		{"cmd/x/...", "cmd/xy", false},
		{"...", "anything/at/all", true},
	}
	for _, test := range tests {
		if got := covers(test.pattern, test.pkg); got != test.want {
			t.Errorf("covers(%q, %q) = %v", test.pattern, test.pkg, got)
		}
	}
}

// equal requires as many findings as prefixes, each with its prefix.
func equal(t *testing.T, findings, prefixes []string) {
	t.Helper()
	if !slices.EqualFunc(findings, prefixes, strings.HasPrefix) {
		t.Errorf("findings:\n%s\nwant:\n%s", strings.Join(findings, "\n"), strings.Join(prefixes, "\n"))
	}
}
