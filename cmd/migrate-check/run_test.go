package main

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// waiting is what is said while something takes long, which on a busy machine may be anything.
var waiting = regexp.MustCompile(`(?m)^\d+ s: .*\n(?: .*\n)*`)

// ran is what a run of the program left behind.
type ran struct {
	code           int
	stdout, stderr string
}

func try(ctx context.Context, args ...string) ran {
	var stdout, stderr bytes.Buffer
	code := run(ctx, args, &stdout, &stderr)
	return ran{code, stdout.String(), waiting.ReplaceAllString(stderr.String(), "")}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{
		{"-h"}, {"--help"}, {"help"}, {"probe", "-h"}, {"probe", "h:1", "-help"}, {"shadow", "-h"}, {"live", "-h"},
		{"cutover", "-h"},
	} {
		r := try(t.Context(), args...)
		assert.Equal(t, codeOK, r.code, args)
		assert.Contains(t, r.stdout, "Usage: migrate-check", args)
		assert.Empty(t, r.stderr, args)
		fits(t, r.stdout)
	}
}

func TestWrongUsage(t *testing.T) {
	for want, args := range map[string][]string{
		"Usage: migrate-check":              {},
		`no subcommand "prob"`:              {"prob"},
		"HOST:PORT is missing":              {"probe"},
		"these are too many: b:2":           {"probe", "a:1", "b:2"},
		"flag provided but not defined":     {"probe", "a:1", "-password", "hunter2"},
		"no profile named \"codix\"":        {"probe", "a:1", "-profile", "codix"},
		"must be above 0":                   {"probe", "a:1", "-timeout", "0"},
		"parse error":                       {"probe", "a:1", "-timeout", "soon"},
		"not both":                          {"probe", "a:1", "-password-env", "A", "-password-file", "b"},
		"wants the NAME of a variable":      {"probe", "a:1", "-password-env", "UNWATCH_TEST_UNSET"},
		"cannot read the file of that name": {"probe", "a:1", "-password-file", "testdata/none"},
		"-tls-ca: open":                     {"probe", "a:1", "-tls-ca", "testdata/none"},
		"need each other":                   {"probe", "a:1", "-tls-cert", "x"},
		"-tls-cert: open":                   {"probe", "a:1", "-tls-cert", "x", "-tls-key", "y"},
		"has no certificate":                {"probe", "a:1", "-tls-ca", "run_test.go"},
		"-username needs":                   {"probe", "a:1", "-username", "bob"},
		"want a file in lower case":         {"probe", "a:1", "-o", "profile.json"},
		"this is no address":                {"probe", "localhost"},
		"wanted, and no URL":                {"probe", "redis://u:hunter2@h:6379/0"},
		"user or password: h:6379":          {"probe", "u:hunter/2@h:6379"},
		"these are too many: h:1":           {"probe", "a:1", "redis://:hunter2@h:1"},
		"no subcommand \"h:1\"":             {"redis://:hunter2@h:1"},
		"no subcommand \"h:6379\"":          {"u:hunter2/x@h:6379"},
		"ends in .yaml or .yml":             {"probe", "a:1", "-o", "a-very-long-name-of-a-profile-that-makes-a-line-longer.json"},
		"FILE is missing":                   {"shadow"},
		"-format is text, json or html":     {"shadow", "a.json", "-format", "xml"},
		"open testdata/none":                {"shadow", "testdata/none"},
		"this is no report":                 {"shadow", "testdata/policy.json"},
		"-policy testdata/none":             {"shadow", "testdata/none", "-policy", "testdata/none"},
		"-policy run_test.go":               {"shadow", "testdata/none", "-policy", "run_test.go"},
		"ADDRESS is missing":                {"live"},
		"ADDRESS 1: want redis://":          {"live", "http://u:hunter2@h:1"},
		"ADDRESS 2: this is no URL":         {"live", "h:1", "redis://u:hunter2/x@h:1"},
		"ADDRESS 1: an address with a user": {"live", "u:hunter2@h:1"},
		"text, json or prometheus":          {"live", "h:1", "-format", "xml"},
		"-for, -every and -timeout":         {"live", "h:1", "-for", "0"},
		"a load of its own":                 {"live", "h:1", "-every", "1ms"},
		"-monitor-lines and":                {"live", "h:1", "-monitor-lines", "0"},
		"redis is a server":                 {"live", "h:1", "-profile", "redis"},
		"-o: run_test.go exists; -f":        {"live", "h:1", "-o", "run_test.go"},
		"-o: open":                          {"live", "h:1", "-o", "testdata/none/x.json"},
		"-with: open":                       {"live", "h:1", "-with", "testdata/none"},
		"-with run_test.go: object 1":       {"live", "h:1", "-with", "run_test.go"},
		"-username needs -password-env or":  {"live", "h:1", "-username", "bob"},
		"cannot have braces":                {"probe", "a:1", "-prefix", "{x}"},
	} {
		r := try(t.Context(), args...)
		assert.Equal(t, codeError, r.code, args)
		assert.Contains(t, r.stderr, want, args)
		assert.NotContains(t, r.stderr, "hunter2")
		assert.Empty(t, r.stdout, args)
		fits(t, r.stderr)
	}
}

func fits(t *testing.T, text string) {
	t.Helper()
	for line := range strings.SplitSeq(text, "\n") {
		assert.LessOrEqual(t, len([]rune(line)), 80, line)
	}
}

// The command that a complaint names shows the help.
func TestUsageErrorsNameExistingCommands(t *testing.T) {
	for _, args := range [][]string{
		{"./...", "-tag", "a"}, {"./...", "-tests", "maybe"}, {"-tests", "off"}, {"probe"}, {"live", "-x"}, {"shadow"}, {"explain", "MC9"},
	} {
		r := try(t.Context(), args...)
		require.Equal(t, codeError, r.code, args)
		_, command, found := strings.Cut(strings.TrimSuffix(r.stderr, " says how to use it.\n"), "\nmigrate-check ")
		require.True(t, found, r.stderr)
		help := try(t.Context(), strings.Fields(command)...)
		assert.Equal(t, codeOK, help.code, command)
		assert.Contains(t, help.stdout, "Usage: migrate-check", command)
	}
}
