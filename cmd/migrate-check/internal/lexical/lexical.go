package lexical

import (
	"slices"
	"unicode/utf8"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
)

// Scan looks at a file, if it is of one of the languages. The path is only that of the
// findings: nothing is read.
func Scan(path string, src []byte, langs Languages) []finding.Finding {
	lang := LanguageOf(path)
	if lang == None || !slices.Contains(langs, lang) {
		return nil
	}
	all, _ := scan(lang, path, string(src))
	return all
}

// scan looks at a file of a language, and tells how much was done.
func scan(lang Language, path, src string) (all []finding.Finding, steps int) {
	if !mentioned(src) || !utf8.ValidString(src) && !text8(src) {
		return nil, 0
	}
	if lang == Lua {
		return scanLua(path, src), 0
	}
	t := lex(lang, src)
	w := newWalker(dialectOf(lang), path, t)
	if lang == Ruby && rubyUses(t) {
		w.guessing("redis")
	}
	if lang == PHP && phpUses(t) {
		w.guessing("redis")
	}
	w.run()
	if w.guess == nil {
		if w.unnamed(); w.guess != nil {
			w.run()
		}
	}
	if w.guess == nil {
		if lang != JS && lang != Java && lang != Kotlin {
			return nil, w.steps
		}
	}
	return w.findings(), w.steps
}

// text8 reports whether a file that is no UTF-8 is text all the same, of an older encoding.
func text8(src string) bool {
	for i := range min(len(src), 8000) {
		if src[i] == 0 {
			return false
		}
	}
	return true
}

// phpUses reports whether the file uses phpredis, which needs no import.
func phpUses(t *tokens) bool {
	for i := range t.all {
		if t.all[i].kind == word && (t.is(i, "Redis") || t.is(i, `Predis\Client`) || t.is(i, "RedisCluster")) {
			return true
		}
	}
	return false
}
