package lexical

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Language is one that can be read.
type Language uint8

// The languages. JS is JavaScript and TypeScript.
const (
	None Language = iota
	Go
	Java
	Kotlin
	Python
	JS
	CSharp
	PHP
	Ruby
	Lua
)

// languages are their names, as a flag takes them, and the endings of their files.
var languages = []struct {
	lang    Language
	name    string
	endings []string
}{
	{Go, "go", []string{".go"}},
	{Java, "java", []string{".java"}},
	{Kotlin, "kotlin", []string{".kt", ".kts"}},
	{Python, "py", []string{".py", ".pyi"}},
	{JS, "js", []string{".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx"}},
	{CSharp, "cs", []string{".cs"}},
	{PHP, "php", []string{".php", ".phtml", ".inc"}},
	{Ruby, "rb", []string{".rb", ".rake"}},
	{Lua, "lua", []string{".lua"}},
}

// String is the name, as ParseLanguages takes it.
func (l Language) String() string {
	for _, of := range languages {
		if of.lang == l {
			return of.name
		}
	}
	return "none"
}

// Languages are some of them.
type Languages []Language

// All are all of them.
func All() Languages {
	var all Languages
	for _, of := range languages {
		all = append(all, of.lang)
	}
	return all
}

// ParseLanguages reads a list, as "go,java,py", "all,-js" or "-js", which is the same; "none" is
// none of them.
func ParseLanguages(list string) (Languages, error) {
	chosen := map[Language]bool{}
	if strings.HasPrefix(strings.TrimSpace(list), "-") {
		list = "all," + list
	}
	for word := range strings.SplitSeq(list, ",") {
		name, without := strings.CutPrefix(strings.TrimSpace(word), "-")
		known := name == "none" || name == "all"
		for _, of := range languages {
			if of.name == name || name == "all" {
				chosen[of.lang], known = !without, true
			}
		}
		if !known {
			return nil, fmt.Errorf("there is no language %q: want some of %s, all, none", word, strings.Join(names(), ", "))
		}
	}
	langs := Languages{}
	for _, lang := range All() {
		if chosen[lang] {
			langs = append(langs, lang)
		}
	}
	return langs, nil
}

func names() (all []string) {
	for _, of := range languages {
		all = append(all, of.name)
	}
	return all
}

// LanguageOf tells the language of a file by its name, None if it is none of these.
func LanguageOf(name string) Language {
	ending := strings.ToLower(path.Ext(name))
	for _, of := range languages {
		if slices.Contains(of.endings, ending) {
			return of.lang
		}
	}
	if base := path.Base(name); base == "Rakefile" || base == "Gemfile" || base == "config.ru" {
		return Ruby
	}
	return None
}
