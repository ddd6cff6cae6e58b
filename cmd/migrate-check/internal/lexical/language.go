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

// language is a row of the table of languages.
type language struct {
	id       Language
	name     string // as a flag takes it
	endings  []string
	comments []string // how a comment begins that ends with its line
	strings  []quotes
	// indents says that a block ends with its indentation. Words in middle stand at the indentation of a
	// function without ending it.
	indents bool
	middle  map[string]bool
	// methods says that a method has no word before its name that says so.
	methods bool
	// typeFirst says that a type stands before a name, and not behind a colon.
	typeFirst bool
	// hoists says that an assignment declares a name in the function around it.
	hoists bool
}

// languages are in the order of their constants.
var languages = []language{
	{id: Go, name: "go", endings: []string{".go"}, comments: slashes,
		strings: []quotes{doubleQuoted, singleQuoted, {begin: "`", end: "`", lines: true}}},
	{id: Java, methods: true, name: "java", endings: []string{".java"}, typeFirst: true, comments: slashes,
		strings: []quotes{{begin: `"""`, end: `"""`, escapes: true, lines: true}, doubleQuoted, singleQuoted}},
	{id: Kotlin, name: "kotlin", endings: []string{".kt", ".kts"}, comments: slashes,
		strings: []quotes{{begin: `"""`, end: `"""`, lines: true, hole: "${"}, {begin: `"`, end: `"`, escapes: true, hole: "${"},
			singleQuoted, {begin: "`", end: "`"}}},
	{id: Python, name: "py", endings: []string{".py", ".pyi"}, indents: true, hoists: true, comments: []string{"#"},
		// Also in a raw string a backslash keeps a quote from ending it.
		strings: []quotes{{first: pythonFirst, pattern: opening(`([rRbBuUfFtT]{0,3})("""|''')`), escapes: true, lines: true},
			{first: pythonFirst, pattern: opening(`([rRbBuUfFtT]{0,3})(["'])`), escapes: true}}},
	{id: JS, methods: true, name: "js", endings: []string{".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx"}, comments: slashes,
		strings: []quotes{doubleQuoted, singleQuoted, {begin: "`", end: "`", escapes: true, hole: "${", lines: true},
			{begin: "/", regex: true, operand: true}}},
	{id: CSharp, methods: true, name: "cs", endings: []string{".cs"}, typeFirst: true, comments: slashes,
		strings: []quotes{{first: `@$"`, pattern: opening(`([@$]{0,4})("{3,20})`), lines: true, raw: true},
			{first: `@$"`, pattern: opening(`([@$]{0,4})(")`), escapes: true}, singleQuoted}},
	{id: PHP, name: "php", endings: []string{".php", ".phtml", ".inc"}, typeFirst: true, hoists: true, comments: []string{"//", "#"},
		strings: []quotes{{begin: `"`, end: `"`, escapes: true, hole: "{$", lines: true},
			{begin: "'", end: "'", escapes: true, lines: true},
			{first: "<", pattern: opening(`(<<<[ "']*')(P+)`), heredoc: true},
			{first: "<", pattern: opening(`(<<<[ "']*)(P+)`), heredoc: true, hole: "$"}}},
	{id: Ruby, name: "rb", endings: []string{".rb", ".rake"}, indents: true, hoists: true, comments: []string{"#"},
		middle: words("rescue ensure else"),
		strings: []quotes{{begin: `"`, end: `"`, escapes: true, hole: "#{", lines: true},
			{begin: "`", end: "`", escapes: true, hole: "#{", lines: true},
			{begin: "'", end: "'", escapes: true, lines: true},
			{begin: `:"`, end: `"`, escapes: true, hole: "#{", lines: true, operand: true},
			{first: ":", pattern: opening(`(:)([[:alpha:]_$\x{80}-\x{10ffff}]P*)`), whole: true},
			{first: "?", pattern: opening(`(\?)([!-\[\]-\x7f])(?:[\x00-#%-/:-@\[-^\x60{-\x7f]|$)`), whole: true, operand: true},
			{begin: "/", regex: true, operand: true, unless: " "},
			{first: "%", pattern: opening(`(%[qwis])` + delimiter), escapes: true, lines: true, operand: true, unless: " ="},
			{first: "%", pattern: opening(`(%[QWIrx]?)` + delimiter), escapes: true, hole: "#{", lines: true, operand: true, unless: " ="},
			{first: "<", pattern: opening(`(<<[~-]')(P+)'`), heredoc: true},
			{first: "<", pattern: opening(`(<<[~-]")(P+)"`), heredoc: true, hole: "#{"},
			{first: "<", pattern: opening(`(<<[~-])([A-Z_]P*)`), heredoc: true, hole: "#{"},
			{first: "<", pattern: opening(`(<<')(P+)'`), heredoc: true, operand: true},
			{first: "<", pattern: opening(`(<<")(P+)"`), heredoc: true, hole: "#{", operand: true},
			{first: "<", pattern: opening(`(<<)([A-Z_]P*)`), heredoc: true, hole: "#{", operand: true}}},
	{id: Lua, name: "lua", endings: []string{".lua"}, comments: []string{"--"},
		strings: []quotes{doubleQuoted, singleQuoted, {first: "[", pattern: longBracket, lines: true}}},
}

var (
	slashes      = []string{"//"} // and /* */
	doubleQuoted = quotes{begin: `"`, end: `"`, escapes: true}
	singleQuoted = quotes{begin: "'", end: "'", escapes: true}
	longBracket  = opening(`()(\[={0,100}\[)`)
)

// Bytes that a string of Python begins with, and the delimiter behind a percent sign of Ruby.
const (
	pythonFirst = `"'rRbBuUfFtT`
	delimiter   = "([!-#%-/:-@[-^`{-\x7f])"
)

// String is the name, as ParseLanguages takes it.
func (l Language) String() string {
	if l == None {
		return "none"
	}
	return languages[l-1].name
}

// Languages are some of them.
type Languages []Language

// All are all of them.
func All() Languages {
	var all Languages
	for _, of := range languages {
		all = append(all, of.id)
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
				chosen[of.id], known = !without, true
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
			return of.id
		}
	}
	if base := path.Base(name); base == "Rakefile" || base == "Gemfile" || base == "config.ru" {
		return Ruby
	}
	return None
}
