package lexical_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/directive"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/lexical"
	"github.com/unwatch/unwatch/proxycompat"
)

// A directive silences a finding in its own line or in the next one with code, in every
// language; in a text it is none.
func TestDirectives(t *testing.T) {
	for name, src := range map[string]string{
		"a.py":   "import redis\nr = redis.Redis()\nr.publish('a', 'b')  # migratecheck:ignore MC202 its own Redis\n",
		"b.py":   "import redis\nr = redis.Redis()\n# migratecheck:ignore MC202 its own Redis\n# as we said\nr.publish('a', 'b')\n",
		"a.js":   "const Redis = require('ioredis')\nconst r = new Redis()\nr.publish('a', 'b') // migratecheck:ignore MC202 its own Redis\n",
		"a.ts":   "import Redis from 'ioredis'\nconst r = new Redis()\n/* migratecheck:ignore MC202 its own Redis */\nr.publish('a', 'b')\n",
		"a.php":  "<?php\n$r = new Redis();\n$r->publish('a', 'b'); # migratecheck:ignore MC202 its own Redis ?>\n",
		"a.rb":   "require 'redis'\nr = Redis.new\nr.publish('a', 'b') # migratecheck:ignore MC202 its own Redis\n",
		"a.lua":  "-- migratecheck:ignore MC504 nobody listens\nredis.call('PUBLISH', KEYS[1], '')\n",
		"A.java": "import redis.clients.jedis.Jedis;\nclass A { void f(Jedis j) {\r\nj.publish(\"a\", \"b\"); //migratecheck:ignore MC202 ok\r\n}}",
		"A.cs": "using StackExchange.Redis;\nclass A { void F(ISubscriber s) {\n// migratecheck:ignore MC202 its own Redis\n" +
			"s.Publish(\"a\", \"b\");\n}}",
		"a.kt": "import redis.clients.jedis.Jedis\nfun f(j: Jedis) {\n" +
			"  j.publish(\"a\", \"b\") // migratecheck:ignore MC202 its own Redis\n}",
	} {
		found := lexical.Scan(proxycompat.Codis32(), name, []byte(src))
		directives := lexical.Directives(name, []byte(src))
		require.Len(t, found, 1, name)
		require.Len(t, directives, 1, name)
		assert.Empty(t, directive.Apply(found, directives, nil, time.Now()), name)
		assert.NotNil(t, found[0].Suppressed, name)
	}
}

func TestTextWithoutDirective(t *testing.T) {
	for name, src := range map[string]string{
		"a.py": "s = '# migratecheck:ignore MC202 reason'\n", "a.js": "const s = `// migratecheck:ignore MC202 reason`\n",
		"a.rb": "s = <<~X\n# migratecheck:ignore MC202 reason\nX\n", "a.md": "# migratecheck:ignore MC202 reason\n",
		"b.js": "// see migratecheck:ignore MC202\n", "b.py": "# nolint:migratecheck\n",
	} {
		assert.Empty(t, lexical.Directives(name, []byte(src)), name)
	}
}
