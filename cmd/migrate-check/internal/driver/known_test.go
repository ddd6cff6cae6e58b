package driver_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/baseline"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/driver"
)

const directives = `
-- own.go --
package own

import "m/go-redis/redis"

func all(c *redis.Client) {
	c.Publish("c", 1) //migratecheck:ignore MC202 a Redis of its own
	//migratecheck:ignore MC202 until the summer until 2026-07-01
	c.Publish("c", 2)
	//migratecheck:ignore MC202 too long until 2026-06-30
	c.Publish("c", 3)
	c.Publish("c", 4) //migratecheck:ignore MC101 another rule
	c.Publish("c", 5) //migratecheck:ignore MC202
	c.Publish("c", 6) //nolint
	c.Publish("c", 7) //nolint:errcheck,migratecheck // known
	//lint:ignore MC101,MC202 known, too
	c.Publish("c", 8)
	c.Publish("c", 9) //migratecheck:ignore all of it
	c.Publish("c", 10) //migratecheck:ignore MC202 some day until soon
	// text: //migratecheck:ignore MC202 in a sentence
	_ = "//migratecheck:ignore MC202 in a text"
}
`

func TestDirectives(t *testing.T) {
	assert.Equal(t, []string{
		"own.go:6 MC202 all directive: a Redis of its own",
		"own.go:8 MC202 all directive: until the summer",
		"own.go:9 MC001 the directive has expired on 2026-06-30 (MC001)",
		"own.go:10 MC202 all",
		"own.go:11 MC202 all",
		"own.go:11 MC001 the directive ignores nothing: remove it (MC001)",
		"own.go:12 MC202 all",
		"own.go:12 MC001 the directive gives no reason: write behind the rule why the finding is right as it is (MC001)",
		"own.go:13 MC202 all",
		"own.go:14 MC202 all directive: known",
		"own.go:16 MC202 all directive: known, too",
		"own.go:17 MC202 all",
		`own.go:17 MC001 the directive names no rule: want //migratecheck:ignore MC101 and a reason, not "all" (MC001)`,
		"own.go:18 MC202 all",
		`own.go:18 MC001 the directive has an expiry that is no day: want until 2027-03-31, not "soon" (MC001)`,
	}, lines(look(t, in(t, directives), nil)))
}

// A directive for a rule outside of the check is no finding.
func TestDirectivesOfOtherRules(t *testing.T) {
	r := look(t, in(t, directives), func(c *driver.Config) {
		c.Rules = func(id string) bool { return id == "MC001" || id == "MC202" }
	})
	assert.NotContains(t, strings.Join(lines(r), "\n"), "ignores nothing", "line 11 is for MC101")
	r = look(t, in(t, directives), nil)
	fingerprints := map[string]bool{}
	for _, f := range r.Findings {
		assert.NotEmpty(t, f.Fingerprint)
		fingerprints[f.Fingerprint] = true
	}
	assert.Len(t, fingerprints, len(r.Findings), "each is another one")
}

const recorded = `
-- own.go --
package own

import "m/go-redis/redis"

func one(c *redis.Client) {
	c.Publish("c", 1)
	c.Publish("c", 1)
	_ = c.Watch(func(*redis.Tx) error { return nil }, "k")
}
`

// A baseline recognizes its findings after changes of lines, blanks, comments and function bodies.
func TestBaseline(t *testing.T) {
	dir := in(t, recorded)
	file := filepath.Join(dir, "baseline.json")
	require.NoError(t, baseline.Of(look(t, dir, nil).Findings).Write(file))
	known, err := baseline.Read(file)
	require.NoError(t, err)
	require.Len(t, known.Findings, 3)

	write(t, dir, txtar.Parse([]byte(`
-- own.go --
package own

import "m/go-redis/redis"

// one has a comment now.
func one(c *redis.Client) {
	println("shifted")

	c.Publish( "c", /* why */ 1)
	_ = c.Watch(func(*redis.Tx) error {
		println("another")
		return nil
	}, "k")
	c.Publish("c", 2)
}

func two(c *redis.Client) { c.Publish("c", 1) }
`)))
	r := look(t, dir, nil)
	down := known.Apply(r.Findings)
	assert.Equal(t, []string{
		"own.go:9 MC202 one baseline:", "own.go:10 MC101 one baseline:", "own.go:10 MC104 one",
		"own.go:14 MC202 one", "own.go:17 MC202 two",
	}, lines(r))
	assert.Equal(t, 3, down.Recorded)
	assert.Equal(t, 2, down.Left)
	assert.Len(t, down.Stale, 1)

	require.NoError(t, os.WriteFile(file, []byte("{}"), 0o644))
	_, err = baseline.Read(file)
	assert.ErrorContains(t, err, "record it anew")
	require.NoError(t, os.WriteFile(file, []byte("["), 0o644))
	_, err = baseline.Read(file)
	assert.ErrorContains(t, err, "is no baseline")
	_, err = baseline.Read(file + "none")
	assert.ErrorIs(t, err, os.ErrNotExist)
}
