package profilefile_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/profilefile"
)

const good = "    verdict: ok\n    why: w\n    source: s\n"

type failure struct{ data, want string }

// fails asserts the errors of files that are read with a base.
func fails(t *testing.T, base *proxycompat.Profile, file string, failures ...failure) {
	t.Helper()
	for _, of := range failures {
		_, err := profilefile.Extend(base, file, []byte(of.data))
		assert.EqualError(t, err, of.want, "%q", of.data)
	}
}

func TestErrors(t *testing.T) {
	const head = "name: mine\nbase: codis\n"
	fails(t, nil, "f", []failure{
		// Of the document.
		{"", "f:1: the file is empty: it needs at least a name and a base"},
		{"# nothing\n", "f:1: the file is empty: it needs at least a name and a base"},
		{"---\n", "f:1: the file is empty: it needs at least a name and a base"},
		{"name: a\n\n\xff", "f:3: this is not UTF-8"},
		{"name: a\n\x01", "f:2: no valid YAML: control characters are not allowed"},
		{"codis", `f:1:1: a profile has to be a mapping of keys to values, and this is the text "codis"`},
		{head + "---\nname: b\n", "f:3:1: a second document: a file describes one proxy"},
		{head + "---\n[", "f:4: no valid YAML: did not find expected node content"},
		{head + "title: a: b\n", `f:3: no valid YAML: mapping values are not allowed in this context; a text with ": " in it has to be quoted`},
		{head + "title: *a\n", "f:3: no valid YAML: unknown anchor 'a' referenced; a text that starts with * has to be quoted, and aliases are not read"},
		{head + "title: 'a\nidle: 5s\n", "f:3: no valid YAML: found unexpected end of stream"},
		{head + "\ttitle: a\n", "f:3: no valid YAML: found a tab character that violates indentation; indent with spaces"},
		{
			head + "commands:\n  - command: *\n" + good,
			"f:4: no valid YAML: did not find expected alphabetic or numeric character" +
				`; the command "*" has to be quoted, and aliases are not read`,
		},
		{
			head + "commands:\n  - command: X\n" + good + "    keys: -\n",
			`f:8: no valid YAML: block sequence entries are not allowed in this context; a "-" by itself has to be quoted`,
		},

		// Of the keys.
		{"base: codis\n", "f:1:1: no name: how the profile is called, one word in lower case"},
		{head + "comands: []\n", `f:3:1: unknown key "comands", did you mean commands?`},
		{
			head + "x: y\n", `f:3:1: unknown key "x", known are ` +
				"name, title, about, base, backend, refusal, closes, hash, hashTag, idle, clients, commands, $schema",
		},
		{head + "title: a\nname: b\n", "f:4:1: a second name, the first is in line 1"},
		{head + "? [a]\n: b\n", "f:3:3: a key has to be a word, and this is a list"},
		{head + "title: &t a\nabout: *t\n", "f:4:8: this has to be a text, and is an alias: write out its value"},

		// Of the values.
		{"name: My Proxy\nbase: codis\n", `f:1:7: bad name "My Proxy" for a profile: want one word in lower case, without @`},
		{head + "title: 7.0\n", "f:3:8: this has to be a text, and is the number 7.0: put it in quotes"},
		{head + "title: ''\n", "f:3:8: this is empty: leave out the key"},
		{head + "hash: crc\n", `f:3:7: bad hash rule "crc": want codis, cluster, config or none`},
		{head + "hashTag: '{}'\n", "f:3:10: the hash tag of codis cannot be configured"},
		{head + "hash: config\nhashTag: '{'\n", `f:4:10: bad hash tag "{": want the two characters around it, as in {}`},
		{head + "idle: 30\n", "f:3:7: this has to be a time with its unit, as in 30m or 90s, or never, and is the number 30"},
		{head + "idle: -1s\n", `f:3:7: this has to be a time with its unit, as in 30m or 90s, or never, and is the text "-1s"`},
		{head + "clients: '5'\n", `f:3:10: this has to be a whole number above zero, without quotes, or unlimited, and is the text "5"`},
		{head + "refusal: '-'\n", "f:3:10: closes: true is how to say that it closes the connection"},
		{head + "closes: true\nrefusal: ERR\n", "f:3:9: closes and refusal exclude each other: it answers a refused command, or it does not"},
		{head + "commands: {GET: ok}\n", "f:3:11: commands has to be a list of rules, and this is a mapping"},

		// Of the base.
		{"name: mine\nhashTag: '{}'\n", "f:1:1: no base: name the profile that this one changes, as in base: codis, or give one to Extend"},
		{
			"name: mine\nbase: nobodys\n", `f:2:7: no profile named "nobodys", known are ` + strings.Join(proxycompat.Names(), ", ") +
				"; add @ and a version for the Redis behind it, as in codis@3.2",
		},

		// Of the rules.
		{head + "commands:\n  - command: []\n" + good, "f:4:14: this list is empty"},
		{head + "commands:\n  - command: GET,SET\n" + good, `f:4:14: bad command "GET,SET": of several, write a list, as in [GET, SET]`},
		{
			head + "commands:\n  - command: GET\n" + good + "  - command: [SET, get]\n" + good,
			`f:8:20: a second rule for "GET", the first is in line 4`,
		},
		{
			head + "commands:\n  - {command: X, why: w, source: s, verdict: pass}\n", `f:4:46: unknown verdict "pass", known are ` +
				"ok, refused, closes, onekey, sameslot, split, backend, misrouted, unknown, harms",
		},
		{
			head + "commands:\n  - command: X\n" + good + "    keys: a\n",
			`f:8:11: bad keys "a" in "a": want -, 1, 1:-1, 1:-1:2, num2, num1:2, 1+store2, after4:WORD or migrate`,
		},
	}...)
	fails(t, proxycompat.Codis32(), "f", failure{
		head, "f:2:7: a base is named here, and codis was given as base, too: leave one of them out",
	})
}

func TestAllErrorsInTheOrderOfTheLines(t *testing.T) {
	_, err := profilefile.Extend(nil, "dir/f.yml", []byte(`
commands:
  - verdict: fine
    keys: x
    args: y
    route: z
    source: s
  - command: [A B C, D E F]
    verdict: ok
    why: 5
    source: s
base: nobodys
hash: x
backend: x
unknown: x
`))
	require.Error(t, err)
	var at []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		place, _, _ := strings.Cut(line, ": ")
		at = append(at, place)
	}
	assert.Equal(t, []string{
		"dir/f.yml:2:1", "dir/f.yml:3:5", "dir/f.yml:3:5", "dir/f.yml:3:14", "dir/f.yml:4:11", "dir/f.yml:5:11", "dir/f.yml:6:12",
		"dir/f.yml:8:15", "dir/f.yml:8:22", "dir/f.yml:10:10",
		"dir/f.yml:12:7", "dir/f.yml:13:7", "dir/f.yml:14:10", "dir/f.yml:15:1",
	}, at)
	var joined interface{ Unwrap() []error }
	require.ErrorAs(t, err, &joined)
	assert.Len(t, joined.Unwrap(), len(at))
}

func TestErrorsInJSON(t *testing.T) {
	fails(t, proxycompat.Codis32(), "f.json", []failure{
		{"{\n\t\"name\": \"é\", \"titel\": 5\n}", "f.json:2:15: unknown key \"titel\", did you mean title?"},
		{"{\n\t\"name\": \"a\",\n}", "f.json:3:1: no valid JSON: invalid character '}' looking for beginning of object key string"},
		{"{\"name\": \"a\"\n", "f.json:1:13: no valid JSON: unexpected end of JSON input"},
		{"{\"name\": \"a\",\n \"name\": null}", "f.json:2:2: a second name, the first is in line 1"},
		{"{\"name\": \"a\",\n \"closes\": [],\n \"clients\": 1.5}", "f.json:2:12: this can only be true: of a proxy that answers, give the text as refusal\n" +
			"f.json:3:13: this has to be a whole number above zero, without quotes, or unlimited, and is the number 1.5"},
	}...)
}

// The time for a large file full of errors is linear: if it were quadratic, this test would not end. Each
// error is readable.
func TestManyErrors(t *testing.T) {
	for name, data := range map[string]string{
		"rules":   "name: a\ncommands:\n" + strings.Repeat("  - {command: A B C, args: x}\n", 8_000),
		"keys":    "name: a\n" + strings.Repeat("k: v\n", 40_000),
		"json":    `{"commands":[0` + strings.Repeat(",0", 50_000) + "]}",
		"deep":    strings.Repeat("[", 1_000_000),
		"deeper":  strings.Repeat("- ", 500_000),
		"unknown": strings.Repeat("ü", 1000) + ": b",
		"bomb":    "a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\nname: *c\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := profilefile.Extend(proxycompat.Codis32(), "f", []byte(data))
			require.Error(t, err)
			for line := range strings.SplitSeq(err.Error(), "\n") {
				require.Less(t, len(line), 400)
			}
		})
	}
}
