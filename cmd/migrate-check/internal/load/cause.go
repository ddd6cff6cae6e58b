package load

import (
	"regexp"
	"strings"

	"golang.org/x/tools/go/packages"
)

// whole is the message of the go command when it fails as a whole.
func whole(err error) string {
	text := err.Error()
	if _, stderr, ok := strings.Cut(text, "stderr: "); ok {
		text = strings.TrimPrefix(stderr, "go: ")
	}
	return hinted(text)
}

// isPattern reports whether a package stands for a pattern without packages.
func isPattern(pkg *packages.Package) bool {
	return pkg.Name == "" && len(pkg.Errors) > 0 && len(pkg.GoFiles) == 0 && len(pkg.OtherFiles) == 0 && len(pkg.IgnoredFiles) == 0
}

// causes are the errors of the go command about packages without files, by path.
func causes(asked []*packages.Package) map[string]string {
	all := map[string]string{}
	packages.Visit(asked, nil, func(pkg *packages.Package) {
		if isPattern(pkg) {
			all[pkg.PkgPath] = pkg.Errors[0].Msg
		}
	})
	return all
}

var couldNotImport = regexp.MustCompile(`^could not import (\S+) \((.*)\)$`)

// reason is the most useful error: a failed import, which causes others, or else a type error, which is shorter than
// that of the go command.
func (p *Program) reason(errs []packages.Error) string {
	for _, e := range errs {
		if found := couldNotImport.FindStringSubmatch(e.Msg); found != nil {
			cause, known := p.causes[found[1]]
			if !known {
				cause = found[2]
			}
			return "could not import " + found[1] + ": " + hinted(cause)
		}
	}
	for _, e := range errs {
		if e.Kind == packages.TypeError {
			return e.Msg
		}
	}
	return hinted(errs[0].Msg)
}

// hints has advice for errors of the go command.
var hints = []struct {
	when *regexp.Regexp
	do   string
}{
	{
		regexp.MustCompile(`does not contain main module|go\.mod file not found`),
		"no go.mod is here or above: go mod init and go mod tidy write one",
	},
	{regexp.MustCompile(`does not contain modules listed in go\.work`), "name its modules, as ./a/..., or use -nested"},
	{regexp.MustCompile(`go\.sum|no required module provides`), "run go mod tidy"},
	{regexp.MustCompile(`GOPROXY|dial tcp|connection|timeout`), "run go mod download where the modules can be fetched"},
	{regexp.MustCompile(`invalid package name: ""`), "go mod download and go mod tidy say why"},
}

// hinted is an error in one line, with its advice.
func hinted(text string) string {
	text, _, _ = strings.Cut(text, "; to add") // the advice of the go command names another package
	text = strings.Join(strings.Fields(text), " ")
	for _, h := range hints {
		if h.when.MatchString(text) {
			return text + ": " + h.do
		}
	}
	return text
}
