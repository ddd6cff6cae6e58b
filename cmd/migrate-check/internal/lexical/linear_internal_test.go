package lexical

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/proxycompat"
)

// heads make each file one that counts.
var heads = map[Language]string{
	Go: "package p\nimport \"github.com/redis/go-redis/v9\"\n", Java: "import redis.clients.jedis.*;\n",
	Kotlin: "import redis.clients.jedis.*\n",
	Python: "import redis\n", JS: "import Redis from 'ioredis'\n", CSharp: "using StackExchange.Redis;\n",
	PHP:  "<?php use Predis\\Client;\n",
	Ruby: "require 'redis'\n",
}

// What is repeated until a file is very long: what is opened is never closed.
var repeated = []string{
	"(", "[", "{", "redis.multi(", "redis.", "`${", "\"#{", "$\"{", "f'{", "\"{$", "/* ", "<<<A\n", "<<~A\n", "'", "\"", "\"\"\"",
	"/x ", "(/ ",
	"<", "a<b<", "x = ", "a ? ", "a ? b : ", "new ", "class A ", "def f ", "function f(", "(a) => ", "x -> ", "a, ", "fun f(",
	"func (a b) f(",
	"if (", "a = b = ", "do |x| ", "@A(", "import a.", "import {", "from a import (", "use A\\{", "lambda x: ", "!", "await ",
	"- ", "x: ", "::",
	"redis.watch(k)\n", "Jedis j = x;\n", "\\", "%q(", "=begin\n", "[==[", "x.y.z ", "#", "@", "$", "private ", "private A b; ",
	"a: A\n", "redis.use { ",
}

// The work grows linearly with the length of a file, for any content.
func TestLongLinear(t *testing.T) {
	long.Only(t)
	for lang, head := range heads {
		t.Run(lang.String(), func(t *testing.T) {
			for _, s := range repeated {
				small := head + strings.Repeat(s, 5_000/len(s))
				large := head + strings.Repeat(s, 15_000/len(s))
				_, few := scan(proxycompat.Codis32(), lang, "x", small)
				_, many := scan(proxycompat.Codis32(), lang, "x", large)
				assert.Less(t, many, 5*few+3_000, "%q", s)
				assert.Less(t, many, 60*len(large), "%q", s)
			}
		})
	}
}

// A scan of a megabyte ends, even if no bracket in it is ever closed.
func TestLongLarge(t *testing.T) {
	long.Only(t)
	for lang, head := range heads {
		for _, s := range []string{"redis.multi(", "private "} {
			all, steps := scan(proxycompat.Codis32(), lang, "x", head+strings.Repeat(s, 1_000_000/len(s)))
			assert.Less(t, steps, 60_000_000, "%s: %q", lang, s)
			assert.LessOrEqual(t, len(all), 1_000_000)
		}
	}
}
