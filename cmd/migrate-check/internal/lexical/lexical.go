package lexical

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
	"github.com/unwatch/unwatch/proxycompat"
)

// Scan returns the commands in a file that the proxy does not serve. A file of no known language has none.
// Scan reads no file: path tells the language, and is repeated in the findings.
func Scan(p *proxycompat.Profile, path string, src []byte) []finding.Finding {
	if lang := LanguageOf(path); lang != None {
		all, _ := scan(p, lang, path, string(src))
		return all
	}
	return nil
}

// scan looks at a file of a language, and tells how much was done. One that is no UTF-8 is text of an older encoding,
// unless it has a zero byte.
func scan(p *proxycompat.Profile, lang Language, name, src string) (all []finding.Finding, steps int) {
	if !mentioned(src) && !saysPath(name) || !utf8.ValidString(src) && strings.Contains(src[:min(len(src), 8000)], "\x00") {
		return nil, 0
	}
	if lang == Lua {
		return scanLua(p, name, src), 0
	}
	sc := newScanner(p, &languages[lang-1], name, lex(lang, src))
	sc.run()
	return sc.findings(), sc.steps
}

// saysPath reports whether a file, or a folder that it is in, is named after Redis.
func saysPath(name string) bool { return redisModule.MatchString(name) }

// mentioned reports whether a file may use a client: one has a word of these.
func mentioned(src string) bool {
	lower := strings.ToLower(src)
	return slices.ContainsFunc(mentions, func(m string) bool { return strings.Contains(lower, m) })
}

var mentions = []string{"redis", "jedis", "lettuce", "valkey", "bull", "resque", "sidekiq", "radix", "multi"}
