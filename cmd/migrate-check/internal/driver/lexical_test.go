package driver_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/driver"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/lexical"
)

// A comment silences a finding in other languages too, and in Go files that are not built.
func TestDirectivesOfOtherLanguages(t *testing.T) {
	dir := in(t, `
-- own/own.go --
package own
-- own/legacy.go --
//go:build legacy

package own

import "m/go-redis/redis"

func own(c *redis.Client) {
	c.Publish("c", 1) // migratecheck:ignore MC202 its own Redis
	c.Get("c") // migratecheck:ignore MC602 not looked for in words
}
-- own/feed.py --
import redis

r = redis.Redis()
# migratecheck:ignore MC202 its own Redis
r.publish('a', 'b')
r.get('a')  # migratecheck:ignore MC202 nothing here
`)
	r := look(t, dir, func(c *driver.Config) { c.Languages = lexical.Languages{lexical.Go, lexical.Python} })
	assert.Equal(t, []string{
		"own/feed.py:5 MC202  uncounted directive: its own Redis",
		"own/feed.py:6 MC001 the directive ignores nothing: remove it (MC001)",
		"own/legacy.go:8 MC202 own [not-built] uncounted directive: its own Redis",
	}, lines(r))
}
