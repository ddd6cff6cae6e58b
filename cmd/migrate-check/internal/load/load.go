// Package load loads the packages of a check, and lists the packages that it could not load
// and the files that the build leaves out.
//
// # Packages near a client
//
// A first query loads the imports of all packages, without types. A package that does not
// import a Redis client, not even through other packages, has no findings. Only the
// others are type-checked: those of the module, and the dependencies that import a
// client, because they may have helpers. All other packages come from export data.
//
// # Tests come later
//
// A package with tests of its own is compiled a second time for them. To save memory, [Tests] loads the tests
// after the other packages were analyzed and released. Only the tests and the helpers of their modules have bodies then.
// With a dependency, the go command would compile its tests, too.
package load

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rediscalls"
)

// Config configures Load.
type Config struct {
	Dir      string // the folder of relative patterns; "": the working directory
	Patterns []string
	Tags     string // build tags, separated by commas
	System   string // "linux", or "linux/arm64"; "": this machine
	Tests    bool
	All      bool // type-check also packages far from a client
}

// Builds are all combinations of tags and systems. None of either means the default.
func Builds(tags, systems []string) (all []Config) {
	for _, tag := range orDefault(tags) {
		for _, system := range orDefault(systems) {
			all = append(all, Config{Tags: tag, System: system})
		}
	}
	return all
}

func orDefault(all []string) []string {
	if len(all) == 0 {
		return []string{""}
	}
	return all
}

// Flags are the build flags of the go command.
func (c Config) Flags() []string {
	if c.Tags == "" {
		return nil
	}
	return []string{"-tags=" + c.Tags}
}

// Program is the result of Load.
type Program struct {
	Packages []*packages.Package // with types: those of the patterns, and then dependencies
	Asked    map[string]bool     // the import paths of the patterns
	Modules  []string            // the folders of their modules, inner ones first
	Root     string              // the folder of relative paths: that of the module, or around all modules
	Broken   []Broken            // with errors; Packages may have them, too
	NotBuilt []string            // files that the tags and the system leave out
	Later    *Later              // the tests; nil if there are none
	Uses     bool                // a package of the patterns imports a Redis client, also through others

	causes map[string]string // the errors of imported packages, by import path
}

// Broken is a package that could not be type-checked.
type Broken struct {
	Package string
	Reason  string
	Files   []string
}

// ErrNoGo is returned if there is neither a module around the folder nor a Go file below it.
var ErrNoGo = errors.New("no Go here")

// Load loads packages. It returns an error if it can load none.
func Load(ctx context.Context, cfg Config) (*Program, error) {
	base := packages.Config{Context: ctx, Dir: cfg.Dir, Tests: cfg.Tests, Env: Environment(cfg.System), BuildFlags: cfg.Flags()}
	first := base
	first.Mode = packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedModule
	if noGo(cfg) {
		return nil, ErrNoGo
	}
	asked, err := packages.Load(&first, cfg.Patterns...)
	if err != nil {
		return nil, errors.New(whole(err))
	}
	p := &Program{Asked: map[string]bool{}, causes: causes(asked)}
	near, some := nearness{}, false
	var patterns, tested []string
	modules, seen := map[string]bool{}, map[string]bool{}
	for _, pkg := range asked {
		if isTestMain(pkg) {
			continue
		}
		if isPattern(pkg) {
			p.Broken = append(p.Broken, Broken{pkg.PkgPath, hinted(pkg.Errors[0].Msg), nil})
			continue
		}
		p.Asked[pkg.PkgPath] = true
		if pkg.Module != nil && pkg.Module.Main {
			modules[pkg.Module.Dir] = true
		}
		p.NotBuilt = append(p.NotBuilt, pkg.IgnoredFiles...)
		path := withoutVariant(pkg)
		leads := near.is(pkg)
		some = some || leads
		switch {
		case isTest(pkg):
			if leads {
				tested = append(tested, path)
			}
		case len(pkg.GoFiles) == 0 && len(pkg.Errors) == 0: // it has tests only
		case leads || cfg.All:
			seen[path] = true
			patterns = append(patterns, path)
			if leads {
				tested = append(tested, path)
			}
		}
	}
	p.Modules = slices.SortedFunc(maps.Keys(modules), func(a, b string) int { return len(b) - len(a) })
	p.Root = common(p.Modules)
	slices.Sort(p.NotBuilt)
	p.NotBuilt = slices.Compact(p.NotBuilt)
	packages.Visit(asked, nil, func(pkg *packages.Package) { p.Uses = p.Uses || rediscalls.IsClient(pkg.PkgPath) })
	if !some {
		return p, nil
	}
	packages.Visit(asked, nil, func(pkg *packages.Package) {
		path := withoutVariant(pkg)
		if near.is(pkg) && !seen[path] && !isTest(pkg) && !isTestMain(pkg) && !rediscalls.IsClient(pkg.PkgPath) && len(pkg.GoFiles) > 0 {
			seen[path] = true
			patterns = append(patterns, path)
			if pkg.Module == nil || pkg.Module.Main {
				tested = append(tested, path)
			}
		}
	})
	base.Mode = packages.LoadSyntax | packages.NeedModule
	base.ParseFile = parseFile
	if cfg.Tests {
		p.Later = &Later{base, tested, Program{Asked: p.Asked, Modules: p.Modules, Root: p.Root, causes: p.causes}}
	}
	base.Tests = false
	if err := p.load(base, patterns); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *Program) load(how packages.Config, patterns []string) error {
	if len(patterns) == 0 {
		return nil // without patterns, packages.Load takes the working directory
	}
	slices.Sort(patterns)
	loaded, err := packages.Load(&how, slices.Compact(patterns)...)
	if err != nil {
		return err
	}
	p.sort(loaded, how.Tests)
	return nil
}

// sort puts the packages of the patterns before dependencies, and lists broken ones. Of tests, only
// errors in their own files count: the others are listed already.
func (p *Program) sort(loaded []*packages.Package, tests bool) {
	said := map[string]bool{}
	for _, pkg := range loaded {
		if isTestMain(pkg) {
			continue
		}
		if pkg.Types != nil && len(pkg.Syntax) > 0 {
			p.Packages = append(p.Packages, pkg)
		}
		if tests {
			pkg.Errors = slices.DeleteFunc(pkg.Errors, func(e packages.Error) bool {
				return e.Kind != packages.ParseError && !strings.Contains(e.Pos, "_test.go:")
			})
		}
		if len(pkg.Errors) == 0 {
			continue
		}
		if said[pkg.PkgPath] || !p.Asked[pkg.PkgPath] {
			continue
		}
		said[pkg.PkgPath] = true
		p.Broken = append(p.Broken, Broken{pkg.PkgPath, p.reason(pkg.Errors), pkg.GoFiles})
	}
	slices.SortStableFunc(p.Packages, func(a, b *packages.Package) int {
		if x, y := p.Asked[a.PkgPath], p.Asked[b.PkgPath]; x != y {
			if x {
				return -1
			}
			return 1
		}
		return strings.Compare(a.ID, b.ID)
	})
}

// parseFile skips the parser's object resolution, which nothing uses and takes a twentieth of the memory.
func parseFile(fset *token.FileSet, name string, src []byte) (*ast.File, error) {
	return parser.ParseFile(fset, name, src, parser.AllErrors|parser.ParseComments|parser.SkipObjectResolution)
}

// nearness caches which packages import a client, also through others.
type nearness map[*packages.Package]bool

func (n nearness) is(pkg *packages.Package) bool {
	if yes, known := n[pkg]; known {
		return yes
	}
	n[pkg] = false // against recursion
	// A missing package may import a client.
	yes := rediscalls.MayBeClient(pkg.PkgPath) || len(pkg.Errors) > 0
	for _, imported := range pkg.Imports {
		if yes {
			break
		}
		yes = n.is(imported)
	}
	n[pkg] = yes
	return yes
}

// withoutVariant is the import path of a package in a pattern. A test variant has that of the tested package.
func withoutVariant(pkg *packages.Package) string {
	path, _, variant := strings.Cut(pkg.ID, " [")
	if variant {
		path = strings.TrimSuffix(path, "_test")
	}
	return path
}

// isTest reports whether a package is a test variant, or has tests only.
func isTest(pkg *packages.Package) bool {
	return strings.Contains(pkg.ID, " [") || strings.HasSuffix(pkg.PkgPath, "_test")
}

func isTestMain(pkg *packages.Package) bool { return strings.HasSuffix(pkg.ID, ".test") }

// Relative returns the slash-separated path of a file relative to the root, and whether the file is below it. The path
// of a file in a dependency begins with the module path and version, as in the module cache.
func (p *Program) Relative(file string) (path string, own bool) {
	if p.Root != "" {
		if short, ok := Within(p.Root, file); ok {
			return short, true
		}
	}
	if _, short, ok := strings.Cut(filepath.ToSlash(file), "/pkg/mod/"); ok {
		return short, false
	}
	return filepath.ToSlash(file), false
}

// common is the common folder of all modules.
func common(modules []string) (dir string) {
	for i, m := range modules {
		if i == 0 {
			dir = m
		}
		for {
			if _, ok := Within(dir, m); ok || dir == filepath.Dir(dir) {
				break
			}
			dir = filepath.Dir(dir)
		}
	}
	return dir
}

// Within is the slash-separated path of a file relative to a folder, if the file is below it.
func Within(dir, file string) (string, bool) {
	short, err := filepath.Rel(dir, file)
	if err != nil || !filepath.IsLocal(short) {
		return "", false
	}
	return filepath.ToSlash(short), true
}

// Environment is the environment of the go command for a system; "" means this machine. It replaces -mod=mod, because
// the go command would write to go.mod.
func Environment(system string) []string {
	env := os.Environ()
	if flags, err := exec.Command("go", "env", "GOFLAGS").Output(); err == nil && strings.Contains(string(flags), "-mod=mod") {
		env = append(env, "GOFLAGS="+strings.ReplaceAll(strings.TrimSpace(string(flags)), "-mod=mod", "-mod=readonly"))
	}
	if system == "" {
		return env
	}
	goos, goarch, _ := strings.Cut(system, "/")
	env = append(env, "GOOS="+goos, "CGO_ENABLED=0")
	if goarch != "" {
		env = append(env, "GOARCH="+goarch)
	}
	return env
}

// String formats a configuration for a message.
func (c Config) String() string {
	var parts []string
	if c.Tags != "" {
		parts = append(parts, "tags "+c.Tags)
	}
	if c.System != "" {
		parts = append(parts, c.System)
	}
	if len(parts) == 0 {
		return "this system, no tags"
	}
	return strings.Join(parts, ", ")
}
