package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/all"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/profile"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/baseline"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/driver"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/lexical"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/load"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/output"
	"github.com/unwatch/unwatch/internal/rules"
	"github.com/unwatch/unwatch/internal/wrap"
)

// The exit codes of a check differ from those of the subcommands, because CI must tell
// findings from an incomplete check, and either of them from both.
const (
	codeIncomplete = 1
	codeFindings   = 3
	codeBoth       = 4
)

// checkName is the name of the flag set of a check, which is no subcommand.
const checkName = "check"

const checkUsage = `Usage: migrate-check [flags] PACKAGES

Finds commands in Go code that a proxy refuses, or does otherwise: migrate-check ./...

`

const checkMore = `
In CI, record the present findings once, and let only new ones fail:
  migrate-check ./... -baseline migrate-check.json -write-baseline
  migrate-check ./... -baseline migrate-check.json -format github

Exit codes in all formats: 0 no findings; 1 no findings, but not everything was
analyzed; 2 wrong usage; 3 findings; 4 findings, and not everything was
analyzed. Notes, and findings in tests, are shown and do not count.

It is a vet tool, too: go vet -vettool=$(which migrate-check) ./...
`

// isPackages tells patterns of packages, and flags, from a subcommand that does not exist.
// A word with an @ may be an address with a password, which no error may repeat.
func isPackages(word string) bool {
	if strings.Contains(word, "@") || strings.Contains(word, "://") {
		return false
	}
	return strings.HasPrefix(word, ".") || strings.HasPrefix(word, "-") || strings.HasSuffix(word, "...") || strings.Contains(word, "/")
}

// checkFlags are the flags of a check.
type checkFlags struct {
	dir, rules, tests, generated, scope, reach string
	format, output, baseline                   string
	tags, systems                              list
	record, strict, incomplete, zero           bool
	traces, low, nested                        bool
	lexical, profile                           string
}

// list is a flag that may be given several times.
type list []string

func (l *list) String() string { return strings.Join(*l, " ") }

func (l *list) Set(word string) error {
	*l = append(*l, word)
	return nil
}

func (c *checkFlags) flags() *flag.FlagSet {
	flags := newFlags(checkName, checkUsage, checkMore)
	flags.StringVar(&c.dir, "C", "", "look at the packages of this `FOLDER`")
	flags.Var(&c.tags, "tags", "build with these `TAGS`, separated by commas; given again, another build is looked at, too")
	flags.Var(&c.systems, "os", "build for this `SYSTEM`, as linux or windows/arm64; given again, another one is looked at, too")
	flags.BoolVar(&c.nested, "nested", false, "look at the modules below, too, which ./... leaves out")
	flags.StringVar(&c.profile, "profile", profile.Default, "the `PROXY` to judge by, as codis@3.2, or a file of your own")
	flags.StringVar(&c.rules, "rules", "default", "only these `RULES`, as tx,MC402,-MC403: those whose names begin so, without those behind a minus; tx is WATCH, MULTI and EXEC alone, all is every rule")
	flags.StringVar(&c.tests, "tests", "warn", "`HOW` to take tests: off; warn: shown, and not counted; fail")
	flags.StringVar(&c.generated, "generated", "report", "`HOW` to take generated files: report, skip")
	flags.StringVar(&c.scope, "scope", "module", "`WHOSE` code: module; deps: and what it reaches in dependencies; all: and what they only import")
	flags.StringVar(&c.reach, "reach", "cone", "`HOW` to find from where a finding is reached: cone: over the packages that lead to a client; none: not at all")
	flags.StringVar(&c.lexical, "lexical", "all", "`LANGUAGES` to look at by their words, as all,-js; go is its files that are not built; none")
	flags.BoolVar(&c.low, "count-lexical", true, "count findings by words in the exit code: those in other languages, and in Go files that are not built")
	flags.StringVar(&c.format, "format", "text", "`ONE` of "+strings.Join(output.Formats(), ", "))
	flags.StringVar(&c.output, "o", "", "write to this `FILE`")
	flags.StringVar(&c.baseline, "baseline", "", "count only findings that are not in baseline `FILE`")
	flags.BoolVar(&c.record, "write-baseline", false, "write the findings to the file of -baseline")
	flags.BoolVar(&c.strict, "strict-baseline", false, "findings that are gone must leave the baseline: else exit code 3")
	flags.BoolVar(&c.incomplete, "allow-incomplete", false, "exit as if everything had been analyzed: 0 or 3, not 1 or 4")
	flags.BoolVar(&c.zero, "exit-zero", false, "findings are no reason for exit code 3")
	flags.BoolVar(&c.traces, "traces", false, "print complete call paths, and the commands and keys of each transaction")
	return flags
}

// config returns the configuration of the driver, or an error that names the wrong flag.
func (c *checkFlags) config(patterns []string) (driver.Config, error) {
	var errs error
	for _, one := range []struct {
		flag, word string
		want       []string
	}{
		{"-tests", c.tests, []string{"off", "warn", "fail"}},
		{"-scope", c.scope, []string{"module", "deps", "all"}},
		{"-generated", c.generated, []string{"report", "skip"}},
		{"-reach", c.reach, []string{"cone", "none"}},
		{"-format", c.format, output.Formats()},
	} {
		want := "one of " + strings.Join(one.want, ", ")
		if len(one.want) == 2 {
			want = strings.Join(one.want, " or ")
		}
		if !slices.Contains(one.want, one.word) {
			errs = errors.Join(errs, fmt.Errorf("%s: want %s, not %s", one.flag, want, one.word))
		}
	}
	rules, err := rules.Parse(c.rules)
	if err != nil {
		errs = errors.Join(errs, fmt.Errorf("-rules: %w", err))
	}
	languages, err := lexical.ParseLanguages(c.lexical)
	if err != nil {
		errs = errors.Join(errs, fmt.Errorf("-lexical: %w", err))
	}
	settings := all.Settings{Profile: c.profile, Split: rules != nil && rules("MC403")}
	errs = errors.Join(errs, settings.Apply())
	proxy, _ := profile.Load(c.profile) // Apply has reported the error
	if c.reach == "none" && c.scope == "deps" {
		errs = errors.Join(errs, errors.New("-scope deps needs -reach cone; -scope all does not"))
	}
	if (c.record || c.strict) && c.baseline == "" {
		errs = errors.Join(errs, errors.New("-write-baseline and -strict-baseline need a -baseline FILE"))
	}
	return driver.Config{
		Dir: c.dir, Patterns: patterns, Tags: c.tags, Systems: c.systems,
		Analyzers: all.Analyzers(), Profile: proxy, Scope: driver.Scope(c.scope), Reach: c.reach == "cone",
		Languages: languages, LowCounts: c.low, Nested: c.nested,
		Rules: rules, Tests: driver.Tests(c.tests), Generated: c.generated == "report", Today: time.Now(),
	}, errs
}

// runCheck analyses packages.
func runCheck(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c := &checkFlags{}
	flags := c.flags()
	patterns, code, ok := parseAll(flags, args, stdout, stderr, "PACKAGES")
	if !ok {
		return code
	}
	for _, pattern := range patterns {
		if wrap.Secrets([]string{pattern}) != nil {
			return complain(stderr, flags.Name(), "PACKAGES are patterns such as ./..., and no addresses: "+wrap.WithoutSecrets(pattern))
		}
	}
	cfg, err := c.config(patterns)
	if err != nil {
		return complain(stderr, flags.Name(), err.Error())
	}
	known, err := c.known()
	if err != nil {
		return complain(stderr, flags.Name(), err.Error())
	}
	progress := newProgress(stderr)
	defer progress.end()
	cfg.Progress = progress.say
	report := look(ctx, cfg, stderr)
	if err := c.judge(report, known, stderr); err != nil {
		return fail(stderr, "", codeIncomplete, err)
	}
	if err := c.print(report, stdout); err != nil {
		return fail(stderr, "", codeIncomplete, err)
	}
	return report.Summary.Exit
}

// look runs the driver. Its error goes into the report.
func look(ctx context.Context, cfg driver.Config, stderr io.Writer) *finding.Report {
	defer tidy(cfg.Reach)()
	report, err := driver.Run(ctx, cfg)
	if err == nil {
		return report
	}
	fail(stderr, "", codeIncomplete, err)
	report = &finding.Report{}
	report.Summary.Unseen = []finding.Unseen{{Path: strings.Join(cfg.Patterns, " "), Reason: err.Error()}}
	report.Summary.Interrupted = ctx.Err() != nil
	report.Count()
	return report
}

// judge compares a report with the baseline, or records it, and decides the exit code.
func (c *checkFlags) judge(report *finding.Report, known *baseline.Baseline, stderr io.Writer) error {
	if known != nil && report.Looked() {
		report.Summary.Baseline = known.Apply(report.Findings)
		report.Count()
	}
	if c.record && report.Looked() {
		now := baseline.Of(report.Findings)
		if err := now.Write(c.baseline); err != nil {
			return fmt.Errorf("-baseline: %w", err)
		}
		say(stderr, "%s", wrapped(fmt.Sprintf("migrate-check: %s records %s", c.baseline, wrap.Counted(len(now.Findings), "finding"))))
	}
	report.Summary.Exit = c.exit(&report.Summary)
	return nil
}

// known reads the baseline; nil if there is none, or if it is to be recorded for the first
// time.
func (c *checkFlags) known() (*baseline.Baseline, error) {
	if c.baseline == "" {
		return nil, nil
	}
	known, err := baseline.Read(c.baseline)
	switch {
	case errors.Is(err, fs.ErrNotExist) && c.record:
		return nil, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("-baseline: there is no file %s yet; -write-baseline records it", c.baseline)
	}
	return known, err
}

func (c *checkFlags) exit(s *finding.Summary) int {
	incomplete := len(s.Unseen) > 0 && !c.incomplete || s.Interrupted
	found := !c.record && !c.zero && (s.Findings > 0 || c.strict && s.Baseline != nil && len(s.Baseline.Stale) > 0)
	switch {
	case incomplete && found:
		return codeBoth
	case incomplete:
		return codeIncomplete
	case found:
		return codeFindings
	}
	return codeOK
}

// print writes the report to stdout, or to the file of -o.
func (c *checkFlags) print(report *finding.Report, stdout io.Writer) error {
	options := output.Options{
		Traces: c.traces, Shown: shown(report.Root), Repository: inRepository(report.Root), Version: version(),
	}
	if c.output == "" {
		options.Terminal = isTerminal(stdout)
		options.Colour = wantsColour(isTerminal(stdout), os.Getenv("NO_COLOR"))
		return output.Write(stdout, c.format, report, options)
	}
	file := outputFile{name: c.output, force: true}
	return file.write(func(w io.Writer) error { return output.Write(w, c.format, report, options) })
}

// wantsColour reports whether the output has colours: see https://no-color.org.
func wantsColour(terminal bool, noColor string) bool { return terminal && noColor == "" }

// shown returns a path relative to the working directory, or to the root if the working directory is far away.
func shown(root string) func(string) string {
	dir, err := os.Getwd()
	if err != nil || root == "" {
		return nil
	}
	return func(path string) string {
		file := filepath.Join(root, filepath.FromSlash(path))
		if _, err := os.Stat(file); err != nil {
			return path // of a dependency
		}
		short, err := filepath.Rel(dir, file)
		if err != nil || strings.HasPrefix(short, ".."+string(filepath.Separator)+"..") {
			return file
		}
		return short
	}
}

// inRepository returns paths relative to the root of the repository around the root of the report, also with -C.
func inRepository(root string) func(string) string {
	top, found := load.Above(root, ".git")
	prefix, below := load.Within(top, root)
	if root == "" || !found || !below {
		return nil
	}
	return func(name string) string {
		if path.IsAbs(name) {
			return name
		}
		return path.Join(prefix, name)
	}
}

// version is the version of this program; "" if it is unknown.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return info.Main.Version
}

// isTerminal reports whether a writer is a terminal.
func isTerminal(w io.Writer) bool {
	if d, ok := w.(discreet); ok {
		w = d.Writer
	}
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
