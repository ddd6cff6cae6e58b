package archtest

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

const root = "../../.."

// maxLockupdate is the limit for lockupdate and its inner packages. Native drivers, Linger,
// SoleWriter, LockDelay, NotifyRedisson, tokens and events are features that a service can choose. The bulkhead, which
// keeps a part of the store that hangs from delaying the rest, has 900 of the lines, and updates of several keys 1,600.
const maxLockupdate = 9900

func TestFiles(t *testing.T) {
	findings, err := checkFiles(os.DirFS(root))
	equal(t, findings, err, nil)
}

func TestMiddleware(t *testing.T) {
	findings, err := checkMiddleware(os.DirFS(root))
	equal(t, findings, err, nil)
}

func TestCoreSize(t *testing.T) {
	lines, err := countLines(os.DirFS(root), "lockupdate", "lockupdate/redlock",
		"lockupdate/internal/poll/scale", "lockupdate/internal/seal/model")
	if err != nil || lines == 0 || lines > maxLockupdate {
		t.Errorf("lockupdate: %d lines with its inner packages, at most %d: delete code that no longer serves (%v)", lines, maxLockupdate, err)
	}
}

func TestRequirements(t *testing.T) {
	gomod, err := os.ReadFile(root + "/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	contributing, err := os.ReadFile(root + "/CONTRIBUTING.md")
	equal(t, checkRequirements(string(gomod), string(contributing)), err, nil)
}

// Negative controls: each check reports each violation, and nothing else.

func TestBrokenFilesAreReported(t *testing.T) {
	const (
		expires = "redis.call('SET', KEYS[1], 'v', 'PX', 5)\n"
		mode    = "redis.replicate_commands()\n"
	)
	tree := fstest.MapFS{}
	for name, text := range map[string]string{
		"cmd/tool": "\x7fELF\x02\x01", "cmd/tool.exe": "MZ\x90\x00\x03", "cmd/testdata/tool": "\xcf\xfa\xed\xfe",
		"cmd/notes": "MZ is text", "cmd/empty": "", "cmd/pkg.test": "\x7fELF", "bin/tool": "\x7fELF",

		"rmw/sleep_test.go":  `import "time"; func sleep() { time.Sleep(1) }`,
		"rmw/bubble_test.go": `import "testing/synctest"; func sleep() { time.Sleep(1) }`,
		"rmw/sleep.go":       `import "time"; func sleep() { time.Sleep(1) }`,

		"cas/cgo.go": "import (\n\t\"C\"\n)\n", "cas/one.go": "import \"C\"\n", "cas/word.go": "// \"C\"\n",

		"lua/bad.lua":  expires,
		"lua/late.lua": "redis.pcall('GET', KEYS[1])\n" + mode + expires,
		"lua/good.lua": mode + expires,
		"lua/none.lua": "redis.call('PERSIST', KEYS[1])",
		"lua/bad.txt":  expires, "lua/testdata/bad.lua": expires,
	} {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	findings, err := checkFiles(tree)
	equal(t, findings, err, []string{
		"cas/cgo.go: cgo",
		"cas/one.go: cgo",
		"cmd/testdata/tool: a built program",
		"cmd/tool: a built program",
		"cmd/tool.exe: a built program",
		"lua/bad.lua: sets an expiry",
		"lua/late.lua: sets an expiry",
		"rmw/sleep_test.go: a test that sleeps",
	})
}

func TestMiddlewareWithoutTransactIsReported(t *testing.T) {
	const (
		unwrap   = "func (s *store) Unwrap() rmw.Store { return s.next }\n"
		transact = "func (s *store) Transact(ctx context.Context) {}\n"
	)
	tree := fstest.MapFS{}
	for name, text := range map[string]string{
		"metrics/a.go": unwrap, "metrics/b.go": strings.ReplaceAll(transact, "*store", "other"),
		"rmw/a.go": strings.ReplaceAll(unwrap, "rmw.", ""), "whole/a.go": unwrap, "whole/b.go": transact,
		"errors/a.go": strings.ReplaceAll(unwrap, "rmw.Store", "error"), "examples/a.go": unwrap, "tests/a_test.go": unwrap,
	} {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	findings, err := checkMiddleware(tree)
	equal(t, findings, err, []string{"metrics: store has Unwrap", "rmw: store has Unwrap"})
}

func TestLinesOfTheCoreAreCounted(t *testing.T) {
	tree := fstest.MapFS{}
	for _, name := range []string{"core/a.go", "core/inner/b.go", "core/a_test.go", "core/a.md", "core/not/c.go", "corex/d.go"} {
		tree[name] = &fstest.MapFile{Data: []byte("1\n2\n")}
	}
	if lines, err := countLines(tree, "core", "core/not"); err != nil || lines != 4 {
		t.Errorf("%d lines, %v", lines, err)
	}
}

func TestChangedRequirementsAreReported(t *testing.T) {
	const gomod = `module m

require example.com/single v1.0.0

require (
	example.com/known v1.2.3
	// a comment
	example.com/new v1.0.0 // for something
	example.com/deep v1.0.0 // indirect
)
`
	const contributing = `
| ` + "`example.com/known`" + ` | because |
| ` + "`example.com/single`" + ` | because |
| ` + "`example.com/gone`" + ` | because |
| ` + "`internal/resp` | `FuzzCommand`" + ` | a property |

example.com/new has no reason, and neither has ` + "`example.com/new`" + `.
`
	equal(t, checkRequirements(gomod, contributing), nil, []string{
		"go.mod requires example.com/new: a dependency is a decision",
		"CONTRIBUTING.md: example.com/gone is no longer required",
	})
}

// equal requires no error, and as many findings as prefixes, each with its prefix.
func equal(t *testing.T, findings []string, err error, prefixes []string) {
	t.Helper()
	if err != nil || !slices.EqualFunc(findings, prefixes, strings.HasPrefix) {
		t.Errorf("findings:\n%s\nwant:\n%s\nerror: %v", strings.Join(findings, "\n"), strings.Join(prefixes, "\n"), err)
	}
}
