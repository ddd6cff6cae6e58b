// Package driver runs all analyzers over Go packages, searches other files by words, and merges the findings of all
// builds into one report. The report lists the code that it could not analyze, too.
package driver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/baseline"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/directive"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/lexical"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/load"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/reach"
	"github.com/unwatch/unwatch/proxycompat"
)

// Config configures Run.
type Config struct {
	Dir       string
	Patterns  []string
	Tags      []string // each a build of its own; empty: one without tags
	Systems   []string // each a build of its own; empty: this machine
	Analyzers []*analysis.Analyzer
	Profile   *proxycompat.Profile // of the search by words; nil: Codis. The analyzers have a flag for theirs
	Nested    bool                 // include nested modules
	Scope     Scope
	Reach     bool                 // find the call path of each finding
	Rules     func(id string) bool // nil: all
	Tests     Tests
	Generated bool              // report findings in generated files
	Languages lexical.Languages // searched by words; empty: only Go files of the builds
	LowCounts bool              // count findings of low confidence
	Today     time.Time
	Progress  func(what string) // may be nil
}

// Scope is the extent of the analyzed code.
type Scope string

// The scopes.
const (
	Module Scope = "module" // the packages of the patterns
	Deps   Scope = "deps"   // and the code that they reach in dependencies
	All    Scope = "all"    // and all of the dependencies
)

// Tests is the treatment of findings in tests.
type Tests string

// The treatments.
const (
	TestsOff  Tests = "off"  // skip tests
	TestsWarn Tests = "warn" // show findings, but do not count them
	TestsFail Tests = "fail" // count findings
)

// Run runs a check. It returns an error if it could analyze nothing. The report lists
// single packages and files that it could not analyze.
func Run(ctx context.Context, cfg Config) (*finding.Report, error) {
	if cfg.Progress == nil {
		cfg.Progress = func(string) {}
	}
	if cfg.Profile == nil {
		cfg.Profile = proxycompat.Codis32()
	}
	m := newMerger(cfg)
	dirs, err := m.modules()
	if err != nil {
		return nil, err
	}
	var left []string // the steps that an interrupt leaves out
	for _, build := range builds(cfg, dirs) {
		done, err := m.build(ctx, build)
		if err != nil && ctx.Err() == nil {
			return nil, err
		}
		if !done {
			left = append(left, "the packages "+strings.Join(build.Patterns, " ")+", built for "+build.String())
		}
	}
	unseen := m.unseen()
	inNone, err := m.unloaded(ctx, dirs)
	unseen = append(unseen, inNone...)
	switch {
	case ctx.Err() != nil:
		left = append(left, "Go files outside of packages")
	case err != nil:
		return nil, err
	}
	switch err := m.scanOthers(ctx); {
	case ctx.Err() != nil:
		left = append(left, "files of other languages")
	case err != nil:
		return nil, err
	}
	for _, step := range left {
		unseen = append(unseen, finding.Unseen{Path: step, Reason: "interrupted"})
	}
	report := m.report(unseen)
	report.Summary.Interrupted = ctx.Err() != nil
	return report, nil
}

// build analyzes one build, and reports whether it was finished.
func (m *merger) build(ctx context.Context, build load.Config) (done bool, err error) {
	if ctx.Err() != nil {
		return false, nil
	}
	m.cfg.Progress("reading packages: " + build.String() + waiting(build))
	program, err := load.Load(ctx, build)
	switch {
	case errors.Is(err, load.ErrNoGo):
		return true, nil
	case ctx.Err() != nil:
		return false, nil
	case err != nil:
		m.notLoaded(build, err)
		return true, nil
	}
	m.cfg.Progress(fmt.Sprintf("looking at %d packages: %s", len(program.Packages), build))
	graph, err := analyze(m.cfg.Analyzers, program.Packages)
	if err != nil {
		return false, fmt.Errorf("%s: %w", build, err)
	}
	if m.cfg.Reach {
		m.cfg.Progress("following the calls: " + build.String())
	}
	later, keep := program.Later, helpers(graph)
	m.add(program, graph, false)
	if later == nil {
		return true, nil
	}
	if ctx.Err() != nil {
		return false, nil
	}
	m.cfg.Progress("looking at the tests: " + build.String())
	if err := m.tests(later, keep); err != nil {
		return false, fmt.Errorf("%s: the tests: %w", build, err)
	}
	return true, nil
}

// waiting is the progress message while packages are loaded, which is slow with an empty build cache.
func waiting(build load.Config) string {
	if build.System == "" {
		return "; the go command compiles what they import"
	}
	return "; the go command compiles the standard library for that system first, which can take minutes"
}

// builds are all combinations of modules, tags and systems.
func builds(cfg Config, dirs []string) (all []load.Config) {
	for _, dir := range dirs {
		patterns := cfg.Patterns
		if dir != cfg.Dir {
			patterns = []string{"./..."}
		}
		for _, build := range load.Builds(cfg.Tags, cfg.Systems) {
			build.Dir, build.Patterns, build.Tests, build.All = dir, patterns, cfg.Tests != TestsOff, cfg.Reach
			all = append(all, build)
		}
	}
	return all
}

// merger merges the findings of several builds into one report.
type merger struct {
	cfg        Config
	root       string
	passed     []finding.Unseen       // of other languages: code of others, and built files
	unread     []finding.Unseen       // of other languages: files that could not be searched
	elsewhere  elsewhere              // findings in dependencies, and in packages of the module that no pattern names
	generated  elsewhere              // findings in generated files, without -generated report
	uses       bool                   // some package of the check imports a Redis client, also through others
	others     []string               // the folders of nested modules outside of the check
	members    map[string]bool        // the folders of the modules of the check
	files      int                    // searched files of other languages
	found      map[finding.Place]bool // by place, rule and message
	all        []finding.Finding
	directives map[finding.Place]*directive.Directive
	packages   map[string]bool
	broken     map[string]load.Broken
	built      map[string]bool           // files of any build
	notBuilt   map[string]string         // files outside of some build, by their paths
	failed     map[string]finding.Unseen // analyzers and builds that failed
	lost       bool                      // a build failed as a whole
	known      map[finding.Place]bool    // lines of findings by types; built when all of them are known
}

func newMerger(cfg Config) *merger {
	return &merger{
		cfg: cfg, found: map[finding.Place]bool{}, directives: map[finding.Place]*directive.Directive{},
		members: map[string]bool{}, elsewhere: elsewhere{}, generated: elsewhere{},
		packages: map[string]bool{}, broken: map[string]load.Broken{}, built: map[string]bool{},
		notBuilt: map[string]string{}, failed: map[string]finding.Unseen{},
	}
}

// tests analyzes the tests of a build.
func (m *merger) tests(later *load.Later, keep load.Bodies) error {
	program, err := later.Tests(keep)
	if err != nil {
		return err
	}
	graph, err := analyze(m.cfg.Analyzers, program.Packages)
	if err != nil {
		return err
	}
	m.add(program, graph, true)
	return nil
}

// add adds the findings of a build, or of its tests.
func (m *merger) add(program *load.Program, graph *checker.Graph, tests bool) {
	m.root = cmp.Or(m.root, program.Root)
	if _, below := load.Within(m.root, program.Root); below {
		program.Root = m.root
	}
	for _, module := range program.Modules {
		m.members[module] = true
	}
	b := &build{merger: m, program: program, tests: tests}
	b.files()
	for _, broken := range program.Broken {
		if _, known := m.broken[broken.Package]; !known {
			m.broken[broken.Package] = broken
		}
	}
	for _, file := range program.NotBuilt {
		path, _ := program.Relative(file)
		m.notBuilt[file] = path
	}
	m.uses = m.uses || program.Uses
	for path := range program.Asked {
		m.packages[strings.TrimSuffix(path, "_test")] = true
	}
	for act := range graph.All() {
		if reason := why(act); reason != "" {
			m.failed[act.Package.PkgPath+reason] = finding.Unseen{Path: act.Package.PkgPath, Reason: reason}
		}
	}
	var found []located
	for _, act := range graph.Roots {
		for _, d := range act.Diagnostics {
			if l, ok := b.diagnostic(act, d); ok {
				found = append(found, l)
			}
		}
	}
	if m.cfg.Reach && !tests {
		// The graph of actions is garbage by now, and with it the types of all expressions.
		b.reach = reach.New(program.Packages, func(path string) bool { return program.Asked[path] })
	}
	for _, l := range found {
		b.reached(l)
	}
}

// keep adds a finding, unless another build has it.
func (m *merger) keep(f finding.Finding) {
	key := f.Place
	key.Message = f.Rule + f.Message
	if !m.found[key] {
		m.found[key] = true
		m.all = append(m.all, f)
	}
}

// report builds the report.
func (m *merger) report(unseen []finding.Unseen) *finding.Report {
	all := m.all
	finding.Sort(all)
	more := directive.Apply(all, slices.Collect(maps.Values(m.directives)), m.cfg.Rules, m.cfg.Today)
	if m.cfg.Rules == nil || m.cfg.Rules(directive.Rule) {
		all = append(all, more...)
		finding.Sort(all)
	}
	baseline.Fingerprint(all)
	r := &finding.Report{Findings: all, Root: m.root, Lost: m.lost}
	r.Summary.Packages = len(m.packages)
	r.Summary.Unseen = slices.Concat(unseen, m.unread, m.elsewhere.all())
	r.Summary.Files = m.files
	if len(m.packages) == 0 && m.files == 0 && len(unseen) == 0 && len(all) == 0 {
		r.Summary.Unseen = []finding.Unseen{{
			Path: strings.Join(m.cfg.Patterns, " "), Reason: "neither a Go package nor a file of another language is there",
		}}
	}
	r.Summary.Passed = slices.Concat(m.passed, m.generated.all())
	r.Summary.Modules = m.otherModules()
	if !m.uses && len(all) == 0 && m.files == 0 { // else "0 findings" would be of code that uses no Redis
		r.Summary.Unseen, r.Summary.Modules = append(r.Summary.Unseen, r.Summary.Modules...), nil
	}
	r.Count()
	return r
}
