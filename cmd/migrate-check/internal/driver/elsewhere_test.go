package driver_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/driver"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/lexical"
)

func unlisted(all []finding.Unseen) (lines []string) {
	for _, u := range all {
		lines = append(lines, u.Path+": "+u.Reason)
	}
	return lines
}

// A check whose only Redis is in a dependency has no findings, and is not complete.
func TestFindingsInDependencies(t *testing.T) {
	harmless := strings.Replace(dependent, "kv.Take()", "kv.Free()", 1) + "\nfunc Free() {}\n"
	versioned := strings.Replace(dependent, "m => ./lib", "m v0.0.0 => ./lib", 1)
	toolkit := strings.NewReplacer("require m", "require github.com/unwatch/unwatch", "replace m", "replace github.com/unwatch/unwatch",
		`"m/kv"`, `"github.com/unwatch/unwatch/kv"`, "module m\n", "module github.com/unwatch/unwatch\n",
		`"m/go-redis/redis"`, `"github.com/unwatch/unwatch/go-redis/redis"`).Replace(dependent)
	none := func(c *driver.Config) { c.Reach = false }
	for name, test := range map[string]struct {
		files  string
		change func(*driver.Config)
		want   []string
	}{
		"reached": {dependent, reached, []string{"m v0.0.0: your code uses it, and it uses Redis itself: 1 finding; list them with -scope deps"}},
		"of a version": {versioned, reached, []string{
			"m v0.0.0: your code uses it, and it uses Redis itself: 1 finding; list them with -scope deps",
		}},
		"imported":       {dependent, none, []string{"m v0.0.0: your code uses it, and it uses Redis itself: 2 findings; list them with -scope all"}},
		"not reached":    {harmless, reached, nil},
		"listed":         {dependent, func(c *driver.Config) { c.Reach, c.Scope = true, driver.Deps }, nil},
		"other rules":    {dependent, func(c *driver.Config) { c.Rules = func(id string) bool { return id == "MC101" } }, nil},
		"of the toolkit": {toolkit, reached, nil},
		"of the module": {
			service, func(c *driver.Config) { c.Reach, c.Patterns = true, []string{"./cmd/..."} },
			[]string{"m/store: your code imports it, and no pattern names it: 8 findings; name it, or list them with -scope deps"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := look(t, in(t, test.files), test.change)
			assert.Equal(t, test.want, unlisted(r.Summary.Unseen))
			if name != "listed" {
				assert.Empty(t, r.Findings)
			}
		})
	}
}

// A module without Redis is clean, also beside a module that was not asked for and has none.
func TestNoRedisAtAll(t *testing.T) {
	r := look(t, in(t, "-- go.mod --\nmodule example.com/none\n\ngo 1.26.0\n-- none.go --\npackage none\n-- other/go.mod --\nmodule other\n"),
		func(c *driver.Config) { c.Reach, c.Patterns, c.Languages = true, []string{"."}, lexical.All() })
	assert.Empty(t, r.Summary.Unseen)
	assert.Empty(t, r.Findings)
}

// A check of nothing but code without Redis is not complete if a nested module has some.
func TestOnlyNestedModulesUseRedis(t *testing.T) {
	const files = `
-- go.mod --
module example.com/outer

go 1.26.0
-- app/outer.go --
package outer
-- app/inner/go.mod --
module example.com/inner

go 1.26.0

require github.com/redis/go-redis/v9 v9.0.0
-- app/inner/inner.go --
package inner
`
	r := look(t, in(t, files), func(c *driver.Config) { c.Patterns = []string{"./app/..."} })
	require.Len(t, r.Summary.Unseen, 1, "a nested module")
	assert.Equal(t, "app/inner", r.Summary.Unseen[0].Path)
	assert.Empty(t, r.Summary.Modules)
}

// The report says how many findings a flag leaves out.
func TestGeneratedFilesLeftOut(t *testing.T) {
	r := look(t, in(t, labelled), func(c *driver.Config) { c.Generated = false })
	assert.Equal(t, []string{"generated files: -generated skip leaves out 1 finding; list them with -generated report"}, unlisted(r.Summary.Passed))
	assert.Empty(t, r.Summary.Unseen)
}

// A file of cgo is searched: by types, or by words without a C compiler, when no file of its package is built.
func TestCgo(t *testing.T) {
	for _, enabled := range []string{"0", "1"} {
		t.Setenv("CGO_ENABLED", enabled)
		dir := t.TempDir() // in its text: the go command caches the output of cgo by it, with the path of the file
		r := look(t, in(t, "-- own/own.go --\n//"+dir+`
package own

// #include <stdlib.h>
import "C"

import "m/go-redis/redis"

func own(c *redis.Client) {
	C.abs(1)
	c.Publish("c", 1)
	c.Publish("c", 2) //migratecheck:ignore MC202 its own Redis
}
`), func(c *driver.Config) { c.Languages = lexical.Languages{lexical.Go} })
		if enabled == "0" {
			assert.Equal(t, []string{"own/own.go:11 MC202 own [not-built] uncounted", "own/own.go:12 MC202 own [not-built] uncounted directive: its own Redis"}, lines(r))
			assert.Equal(t, []string{
				"own/own.go: imports a Redis client, and is in a folder of which nothing is built with these tags on this system",
			}, unlisted(r.Summary.Unseen))
			continue
		}
		assert.Equal(t, []string{"own/own.go:11 MC202 own", "own/own.go:12 MC202 own directive: its own Redis"}, lines(r))
		assert.Empty(t, r.Summary.Unseen)
	}
}

// The go command does not match a folder of which no file is built.
func TestFolderOfAnotherBuild(t *testing.T) {
	dir := in(t, `
-- own/own.go --
package own
-- legacy/legacy.go --
//go:build legacy

package legacy

import "m/go-redis/redis"

func Legacy(c *redis.Client) { c.Publish("c", 1) }
`)
	r := look(t, dir, reached)
	assert.Equal(t, []string{
		"legacy/legacy.go: imports a Redis client, and is in a folder of which nothing is built with these tags on this system",
	}, unlisted(r.Summary.Unseen))
	r = look(t, dir, func(c *driver.Config) { c.Tags = []string{"legacy", ""} })
	assert.Empty(t, r.Summary.Unseen)
	assert.Equal(t, []string{"legacy/legacy.go:7 MC202 Legacy"}, lines(r))
}
