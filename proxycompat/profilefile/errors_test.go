package profilefile_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/profilefile"
)

func TestErrors(t *testing.T) {
	const (
		head  = "name: mine\nbase: codis\n"
		good  = "    verdict: ok\n    why: w\n    source: s\n"
		rule  = head + "commands:\n  - command: X\n" + good
		key   = "is no key of the format: see go doc github.com/unwatch/unwatch/proxycompat/profilefile"
		quote = `; quote a text that has ": " in it, or begins with *, -, % or the like`
	)
	for data, want := range map[string]string{
		"":                       "f: no base: name the profile that this one changes, as in base: codis",
		"---\n":                  "f: no base: name the profile that this one changes, as in base: codis",
		"codis":                  "f:1: cannot unmarshal !!str `codis` into a profile",
		"name: a\n\n\xff":        "f: invalid leading UTF-8 octet" + quote,
		head + "---\nname: b\n":  "f: a second document: a file describes one proxy",
		head + "title: a: b\n":   "f:3: mapping values are not allowed in this context" + quote,
		head + "about: *a\n":     "f: unknown anchor 'a' referenced" + quote,
		head + "\"title\n":       "f:3: found unexpected end of stream" + quote,
		head + "name: b\n":       `f:3: mapping key "name" already defined at line 1`,
		head + "comands: []\n":   "f:3: field comands " + key,
		head + "hash: [a]\n":     "f:3: cannot unmarshal !!seq into string",
		head + "commands: [X]\n": "f:3: cannot unmarshal !!str `X` into a rule",
		rule + "    rout: 1\nclosed: true\n": "f:8: field rout " + key + "\n" +
			"f:9: field closed " + key,
		strings.Replace(rule, "X", "{A: B}", 1): "f:4: cannot unmarshal !!map into []string",

		"base: codis\n":                       `f: proxycompat: bad name "" for a profile: want one word in lower case, without @`,
		head + "hash: crc\n":                  `f: proxycompat: bad hash rule "crc": want codis, cluster, config or none`,
		head + "idle: 30\n":                   `f: proxycompat: bad idle time "30": want a time with its unit, as in 30m, or never`,
		head + "clients: -1\n":                `f: proxycompat: bad number of clients "-1": want one above zero, or unlimited`,
		head + "closes: true\nrefusal: ERR\n": "f: closes and refusal exclude each other: leave one of them out",
		rule + "    keys: a\n": `f:4: proxycompat: rule 1: bad keys "a" in "a": ` +
			"want -, 1, 1:-1, 1:-1:2, num2, num1:2, 1+store2, after4:WORD or migrate",
		rule + "\n  - command: [SET, x]\n" + good:    "f:9: proxycompat: rule 2: a second rule for X: keep one",
		head + "commands:\n  - command: []\n" + good: "f:4: proxycompat: rule 1: no command: say which the rule is for",
		head + "commands:\n  - {command: X, why: w}\n": `f:4: proxycompat: rule 1: proxycompat: unknown verdict "", known are ` +
			"[ok refused closes onekey sameslot split backend misrouted unknown harms]",
	} {
		_, err := profilefile.Extend(nil, "f", []byte(data))
		assert.EqualError(t, err, want, "%q", data)
	}
	_, err := profilefile.Extend(nil, "f", []byte("name: mine\nbase: nobodys\n"))
	require.ErrorContains(t, err, `f: proxycompat: no profile named "nobodys", known are alibaba, `)
	_, err = profilefile.Extend(proxycompat.Codis32(), "f", []byte(head))
	require.EqualError(t, err, "f: a base is named here, and codis was given as base, too: leave one of them out")
	_, err = profilefile.Extend(nil, "f", []byte(rule+"    keys: a\n"))
	var bad *proxycompat.RuleError
	require.ErrorAs(t, err, &bad)
}

// The library of YAML limits depth and the expansion of aliases.
func TestHostileFiles(t *testing.T) {
	for name, data := range map[string]string{
		"deep":   strings.Repeat("[", 1_000_000),
		"deeper": strings.Repeat("- ", 500_000),
		"panic":  "! !00 \xf6",
		"bomb":   "a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\nname: *c\n",
	} {
		_, err := profilefile.Extend(proxycompat.Codis32(), "f", []byte(data))
		require.Error(t, err, name)
	}
}

// The same tags name the keys of embedded profiles and of files.
func TestTagsAgree(t *testing.T) {
	for _, of := range []reflect.Type{reflect.TypeFor[proxycompat.Changes](), reflect.TypeFor[proxycompat.RuleChange]()} {
		for field := range of.Fields() {
			key, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
			assert.Equal(t, field.Tag.Get("json"), key)
		}
	}
}
