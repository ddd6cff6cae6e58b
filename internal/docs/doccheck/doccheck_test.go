package doccheck

import (
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestDocs(t *testing.T) {
	findings, read, err := Check("../../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		t.Error(f)
	}
	t.Logf("checked %s", strings.Join(read, ", "))
	if !slices.Contains(read, "CONTRIBUTING.md") {
		t.Error("the documents were not found, so nothing was checked")
	}
}

func TestGoodDocumentsHaveNoFindings(t *testing.T) {
	findings, read, err := Check("testdata/good")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"README.md", "README.zh-CN.md", "docs/guide.md"}; !slices.Equal(read, want) {
		t.Errorf("read %q, want %q", read, want)
	}
	for _, f := range findings {
		t.Error(f)
	}
}

// Negative control: every defect is reported, and nothing else.
func TestBrokenDocumentsAreReported(t *testing.T) {
	findings, _, err := Check("testdata/broken")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"README.md:3: a block of Go needs",
		"README.md:8: the block differs from its snippet code/code.go#changed, which is:\nconst New = 1",
		"README.md:13: snippet code/code.go#twice: the file has 2 regions",
		"README.md:17: snippet code/code.go#open: no endsnippet",
		"README.md:22: snippet code/code.go#missing: the file has 0 regions",
		"README.md:26: snippet code/missing.go#x: no such file",
		"README.md:30: snippet testdata/x.go#x: the go command ignores this path",
		"README.md:35: snippet code/ignored.go#x: nothing compiles",
		`README.md:40: snippet "code/code.go" is not FILE#NAME`,
		"README.md:44: the block differs from its snippet code/code.go#changed, which is:\nconst New = 1",
		"README.md:50: the block is made of 2 snippets, and names 1",
		"README.zh-CN.md:3: a block of Go needs",
		"docs/links.md:3: link missing.md: no such file",
		"docs/links.md:3: link shell.md#missing: no such heading",
		"docs/links.md:3: link #missing: no such heading",
		"docs/links.md:4: link ../../../README.md leaves the repository",
		"docs/links.md:4: link missing.png: no such file",
		"docs/links.md:6: link missing.md: no such file",
		`docs/shell.md:4: "make deploy": the Makefile has no target deploy`,
		`docs/shell.md:5: "go run ./cmd/missing": no such package`,
		`docs/shell.md:6: "go test ./missing/...": no such package`,
		`docs/shell.md:7: "go install example.com/elsewhere@latest": no target or script executes this`,
		`docs/shell.md:8: "apt-get install everything": no target or script executes this`,
		`docs/shell.md:9: "make test | tee log": no target or script executes this`,
		`docs/shell.md:10: "make test && rm -rf everything": no target or script executes this`,
		`docs/shell.md:11: "make $(cat targets)": no target or script executes this`,
		`docs/shell.md:12: "go -C nowhere test .": no such package`,
		`docs/shell.md:13: "cd code": no target or script executes this`,
		`docs/shell.md:19: "echo that": no target or script executes this`,
		"docs/shell.md:23: executed-by: no such file: scripts/missing.sh",
		`docs/shell.md:24: "echo this": no target or script executes this`,
		"docs/shell.md:27: mark the block sh instead of bash",
		`README.zh-CN.md:1: heading 1 is level 2 ("Broken") here and level 1 ("Broken") in README.md`,
		"README.zh-CN.md:3: code block 1 is not that of README.md (line 3)",
	}
	if !slices.EqualFunc(findings, want, strings.HasPrefix) {
		t.Errorf("findings:\n%s\n\nwant:\n%s", strings.Join(findings, "\n"), strings.Join(want, "\n"))
	}
}

func TestSlug(t *testing.T) {
	for text, want := range map[string]string{
		"Who may import whom?":           "who-may-import-whom",
		"`cas` ↔ `lockupdate`":           "cas--lockupdate",
		"The [runbook](docs/x.md), v2.0": "the-runbook-v20",
		"快速开始：一行切换":                      "快速开始一行切换",
		"snake_case":                     "snake_case",
	} {
		if got := slug(text); got != want {
			t.Errorf("slug(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestMissingTranslationIsReported(t *testing.T) {
	c := &checker{}
	c.checkTwins(parse("README.md", "# A\n## B\n"), parse("README.zh-CN.md", "# A\n"))
	if len(c.findings) != 1 || !strings.Contains(c.findings[0], "heading 2 is level 0") {
		t.Errorf("findings %q", c.findings)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../../" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The README has the versions of go.mod, and its ratios are rows of docs/performance.md. The figures of that page are
// those of the recorded tables.
func TestPerformanceFigures(t *testing.T) {
	mod, page, tables := read(t, "go.mod"), read(t, "docs/performance.md"), read(t, "docs/results/performance.md")
	first := func(text, pattern string) string {
		found := regexp.MustCompile(pattern).FindStringSubmatch(text)
		if found == nil {
			t.Fatalf("nothing is like %s", pattern)
		}
		return found[1]
	}
	ratios := map[string]string{} // by scenario
	rows := regexp.MustCompile("(?m)^\\| [^|]* \\| (\\S+) (\\| \\S+× \\| \\S+× \\|) `(\\S+)` \\|$")
	for _, row := range rows.FindAllStringSubmatch(page, -1) {
		_, table, _ := strings.Cut(tables, "\n### "+row[3]+": ")
		ratio := func(impl string) string { return first(table, `(?m)^\| `+impl+` +\| \S+ +\| \S+ +\| (\S+) `) }
		ratios[row[3]] = "| " + ratio("unwatch") + "× | " + ratio("unwatch-ondemand") + "× |"
		if want := first(table, `(?m)^\| watch +\| (\S+) `); row[1] != want || row[2] != ratios[row[3]] {
			t.Errorf("docs/performance.md has %q for %s, want %s and %s", row[0], row[3], want, ratios[row[3]])
		}
	}
	if len(ratios) != 9 {
		t.Errorf("%d rows of docs/performance.md have a scenario, want 9", len(ratios))
	}
	want := []string{"Go " + first(mod, `(?m)^go (\d+\.\d+)`), "go-redis " + first(mod, `redis/go-redis/v9 (v\S+)`)}
	for _, scenario := range []string{"hot64", "unc64", "d-unc1", "unc1"} {
		if ratios[scenario] == "" {
			t.Fatalf("docs/performance.md has no row of %s", scenario)
		}
		want = append(want, ratios[scenario])
	}
	for _, name := range []string{"README.md", "README.zh-CN.md"} {
		for _, text := range want {
			if !strings.Contains(read(t, name), text) {
				t.Errorf("%s has no %q", name, text)
			}
		}
	}
}

func TestHasLines(t *testing.T) {
	for lines, want := range map[string]bool{
		"# The guide\n":        true,
		"# The guide\n\n":      true,
		"guide\n":              false, // no whole line
		"# The guide, twice\n": false,
	} {
		if got := HasLines("testdata/good/docs/guide.md", lines); (got == nil) != want {
			t.Errorf("%q: %v", lines, got)
		}
	}
	if HasLines("testdata/good/docs/missing.md", "") == nil {
		t.Error("a page that does not exist")
	}
}

// docs/observe.md has the attributes of slog in all packages that a service imports, and no others.
func TestLogAttributesAreDocumented(t *testing.T) {
	_, table, _ := strings.Cut(read(t, "docs/observe.md"), "these attributes of `log/slog`:")
	table, _, _ = strings.Cut(table, "\n\nNo attribute")
	documented := map[string]bool{}
	for _, line := range regexp.MustCompile("(?m)^\\| (`.*?) \\|").FindAllStringSubmatch(table, -1) {
		for _, name := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(line[1], -1) {
			documented[name[1]] = false
		}
	}
	attr := regexp.MustCompile(`slog\.[A-Z]\w+\("(\w+)",`)
	call := regexp.MustCompile(`\.(?:Debug|Info|Warn|Error)(?:Context)?\([^"\n]*"[^"]*", (.*)\)`)
	pair := regexp.MustCompile(`"(\w+)", `)
	for _, folder := range []string{
		"rmw", "cas", "lock", "lockupdate", "cutover", "shadow", "domains", "proxycompat", "adapters", "observe", "internal/callback",
	} {
		err := fs.WalkDir(os.DirFS("../../../"+folder), ".", func(name string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			text := read(t, folder+"/"+name)
			if !strings.Contains(text, `"log/slog"`) {
				return nil
			}
			found := attr.FindAllStringSubmatch(text, -1)
			for _, c := range call.FindAllStringSubmatch(text, -1) {
				found = append(found, pair.FindAllStringSubmatch(c[1], -1)...)
			}
			for _, f := range found {
				if _, ok := documented[f[1]]; !ok {
					t.Errorf("%s/%s: docs/observe.md does not have the attribute %q", folder, name, f[1])
				}
				documented[f[1]] = true
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, used := range documented {
		if !used {
			t.Errorf("docs/observe.md has the attribute %q, and no package uses it", name)
		}
	}
}
