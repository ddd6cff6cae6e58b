package main

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/internal/testing/long"
)

func TestLongCheckOfTheLegacyService(t *testing.T) {
	long.Only(t)
	r := try(t.Context(), "../../examples/legacy-service/...", "-traces")
	assert.Equal(t, codeFindings, r.code, r.stderr)
	assert.Empty(t, r.stderr)
	lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
	assert.Equal(t, []string{
		"14 findings (4 MC101, 7 MC102, 1 MC201, 1 MC202, 1 MC501) in 1 package; 2 not counted (notes, tests, or ignored)",
		"first 7 × a pipeline within MULTI and EXEC in 7 functions (MC102), then 4 × WATCH through a method of a client in 4 functions (MC101), " +
			"then 1 × a subscription in 1 function (MC201), then 1 × a publication in 1 function (MC202), " +
			"then 1 × a script with several keys that are not proven to share a slot in 1 function (MC501)",
		"14 reached from a main",
	}, lines[len(lines)-3:])
	assert.Regexp(t, `legacy-service/watch\.go:\d+:\d+: WATCH through \(redis.UniversalClient\)\.Watch; the proxy refuses it.* \(MC101\)`,
		unwrapped(r.stdout))
	assert.Contains(t, unwrapped(r.stdout), "examples/legacy-service/assignment.go:17,")
}

func TestCheck(t *testing.T) {
	for name, test := range map[string]struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		"clean": {
			args: []string{"./testdata/tagged/...", "-tests=off", "-allow-incomplete"}, code: codeOK,
			stdout: "0 findings in 1 package",
		},
		"hidden by tags": {
			args: []string{"./testdata/tagged", "-tests=off"}, code: codeIncomplete,
			stdout: "cmd/migrate-check/testdata/tagged/legacy.go: imports a Redis client, and is not built",
		},
		"in a test": {
			args: []string{"./testdata/tagged", "-tags", "legacy", "-rules", "MC2"}, code: codeOK,
			stdout: "(MC202) [test]",
		},
		"tests that count": {
			args: []string{"./testdata/tagged", "-tags", "legacy", "-tests", "fail"}, code: codeFindings,
			stdout: "2 findings (1 MC101, 1 MC202)",
		},
		"two builds": {
			args: []string{"-tags", "legacy", "./testdata/tagged", "-tags", ""}, code: codeFindings,
			stdout: "1 finding (1 MC101)",
		},
		"findings, and does not compile": {
			args: []string{"./testdata/broken", "./testdata/tagged"}, code: codeBoth,
			stdout: "testdata/broken: undefined: missing",
		},
		"not there":   {args: []string{"./testdata/none"}, code: codeIncomplete, stdout: "testdata/none"},
		"no packages": {args: []string{"-tags", "a"}, code: codeError, stderr: "PACKAGES is missing"},
		"wrong flag":  {args: []string{"./...", "-tag", "a"}, code: codeError, stderr: "flag provided but not defined"},
		"help":        {args: []string{"./...", "-h"}, code: codeOK, stdout: "-baseline migrate-check.json -format github"},
	} {
		t.Run(name, func(t *testing.T) {
			r := try(t.Context(), test.args...)
			assert.Equal(t, test.code, r.code, r)
			assert.Contains(t, unwrapped(r.stdout), test.stdout)
			assert.Contains(t, unwrapped(r.stderr), test.stderr)
			fits(t, r.stderr)
		})
	}
}

// unwrapped is a text in one line.
func unwrapped(text string) string { return strings.Join(strings.Fields(text), " ") }

func TestCancelledCheck(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := try(ctx, "./testdata/tagged")
	assert.Equal(t, codeIncomplete, r.code)
	assert.Contains(t, r.stdout, "interrupted before the end; so far 0 findings")
	for _, step := range []string{"the packages ./testdata/tagged", "Go files outside of packages", "files of other languages"} {
		assert.Contains(t, r.stdout, "not looked at in full: "+step)
	}
}
