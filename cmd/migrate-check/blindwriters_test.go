package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/live"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/profilefile"
)

// monitored returns the blind writers in lines of MONITOR, such as "1 SET k v". Clients are numbers, and "lua".
func monitored(t *testing.T, counts func(string) bool, lines ...string) (found []string) {
	t.Helper()
	return monitoredFrom(t, 0, counts, lines...)
}

func monitoredFrom(t *testing.T, grace time.Duration, counts func(string) bool, lines ...string) (found []string) {
	t.Helper()
	profile, err := profilefile.Extend(nil, "blind-writers.yaml", blindWritersProfile)
	require.NoError(t, err)
	m := newMonitorLines(profile, 0, counts)
	m.grace = grace
	for _, line := range lines {
		words := strings.Fields(line)
		db := 0
		if number, rest, ok := strings.Cut(words[0], "/"); ok && len(number) == 1 {
			db, words[0] = int(number[0]-'0'), rest
		}
		source := words[0]
		if source != "lua" && !strings.HasPrefix(source, "unix:") {
			source = "10.0.0." + source + ":4711"
		}
		m.take(live.MonitorLine{Source: source, DB: db, Args: words[1:]})
	}
	for _, w := range m.writers(live.Monitored{}) {
		found = append(found, w.String())
	}
	return found
}

// A client may have sent its WATCH before the first line of MONITOR.
func TestTransactionsBegunBeforeMonitor(t *testing.T) {
	for lines, want := range map[string][]string{
		"1 MULTI, 1 SET k v, 1 EXEC": nil,
		"1 GET k, 1 MULTI, 1 SET k v, 1 EXEC, 1 WATCH k, 1 GET k, 1 MULTI, 1 SET k v, 1 EXEC": nil,
		"1 MULTI, 1 SET k v, 1 EXEC, 1 MULTI, 1 SET k v, 1 EXEC":                              {"SET by 10.0.0.1 of k"},
		"1 GET k, 1 WATCH k, 1 MULTI, 1 SET k v, 1 EXEC":                                      {"SET by 10.0.0.1 of k"},
		"1 HELLO 3, 1 MULTI, 1 SET k v, 1 EXEC":                                               {"SET by 10.0.0.1 of k"},
		"1 SET k v":                                                                           {"SET by 10.0.0.1 of k"},
	} {
		assert.Equal(t, want, monitoredFrom(t, time.Hour, nil, strings.Split(lines, ", ")...), lines)
	}
}

func TestBlindWritersInMonitor(t *testing.T) {
	own, _, _ := strings.Cut(ownScriptsTable, "\t")
	hash := func(text string) string { return redis.NewScript(text).Hash()[:8] }
	for name, tc := range map[string]struct{ lines, want string }{
		"a cron": {"1 SET k v, 1 SET k v, 2 GET k", "SET by 10.0.0.1 of k"},
		"many keys": {
			"1 DEL a b, 1 DEL c, 1 UNLINK d, 1 DEL e",
			"DEL by 10.0.0.1 of a b c and 1 more; UNLINK by 10.0.0.1 of d",
		},
		"a transaction that reads": {"1 WATCH k, 1 GET k, 1 MULTI, 1 SET k v, 1 EXPIRE k 9, 1 EXEC", ""},
		"of a hash":                {"1 watch k, 1 hgetall k, 1 multi, 1 del k, 1 exec", ""},
		"with other clients between": {
			"1 WATCH k, 2 WATCH j, 1 GET k, 2 GET j, 1 MULTI, 2 EXEC, 1 SET k v, 1 EXEC",
			"",
		},
		"two keys, one was read": {
			"1 WATCH k j, 1 STRLEN k, 1 MULTI, 1 MSET k v j v, 1 EXEC",
			"MSET by 10.0.0.1 of j",
		},
		"MGET": {"1 WATCH k, 1 MGET k, 1 MULTI, 1 SET k v, 1 EXEC", "SET by 10.0.0.1 of k"},
		"EXISTS, TTL and TYPE": {
			"1 WATCH k, 1 EXISTS k, 1 TTL k, 1 TYPE k, 1 MULTI, 1 SET k v, 1 EXEC",
			"SET by 10.0.0.1 of k",
		},
		"another key was read": {"1 WATCH k, 1 GET j, 1 MULTI, 1 SET k v, 1 EXEC", "SET by 10.0.0.1 of k"},
		"no WATCH":             {"1 GET k, 1 MULTI, 1 SET k v, 1 EXEC", "SET by 10.0.0.1 of k"},
		"a read before WATCH":  {"1 GET k, 1 WATCH k, 1 MULTI, 1 SET k v, 1 EXEC", "SET by 10.0.0.1 of k"},
		"a read within MULTI":  {"1 WATCH k, 1 MULTI, 1 GET k, 1 SET k v, 1 EXEC", "SET by 10.0.0.1 of k"},
		"no MULTI":             {"1 WATCH k, 1 GET k, 1 SET k v", "SET by 10.0.0.1 of k"},
		"WATCH ended by EXEC": {
			"1 WATCH k, 1 GET k, 1 MULTI, 1 EXEC, 1 MULTI, 1 SET k v, 1 EXEC",
			"SET by 10.0.0.1 of k",
		},
		"WATCH ended by DISCARD": {
			"1 WATCH k, 1 GET k, 1 MULTI, 1 DISCARD, 1 MULTI, 1 SET k v, 1 EXEC",
			"SET by 10.0.0.1 of k",
		},
		"WATCH ended by UNWATCH": {
			"1 WATCH k, 1 GET k, 1 UNWATCH, 1 MULTI, 1 SET k v, 1 EXEC",
			"SET by 10.0.0.1 of k",
		},
		"UNWATCH within MULTI ends no WATCH": {
			"1 WATCH k, 1 GET k, 1 MULTI, 1 UNWATCH, 1 SET k v, 1 EXEC",
			"",
		},
		"clients of a socket": {
			"unix:/s WATCH k, unix:/s GET k, unix:/s MULTI, unix:/s SET k v",
			"SET by unix of k",
		},
		"a script": {
			"1 EVAL return(1) 1 k, lua SET k v, 2 GET k",
			"SET in script " + hash("return(1)") + " by 10.0.0.1 of k",
		},
		"by its SHA1": {
			"1 EVALSHA ABCDEF0123456789 1 k, lua EXISTS k, lua SET k v",
			"SET in script abcdef01 by 10.0.0.1 of k",
		},
		"a script that reads": {"1 EVALSHA abcdef0123456789 1 k, lua GET k, lua DEL k", ""},
		"a read of its last call": {
			"1 EVALSHA abcdef01 1 k, lua GET k, 1 EVALSHA abcdef01 1 k, lua DEL k",
			"DEL in script abcdef01 by 10.0.0.1 of k",
		},
		"a function": {"1 FCALL take 1 k, lua SET k v", "SET in script take by 10.0.0.1 of k"},
		"our script": {"1 EVALSHA " + own + " 1 k, lua SET k v, lua DEL k", ""},
		"our script in a transaction": {
			"1 WATCH k, 1 MULTI, 1 EVALSHA " + own + " 1 k, lua DEL k, 1 EXEC",
			"",
		},
		"not right after our script": {
			"1 EVALSHA " + own + " 1 k, 2 GET k, lua SET k v",
			"SET in script of unknown name by a client that was not seen of k",
		},
		"a transaction whose EXEC was not seen": {
			"1 WATCH k, 1 GET k, 1 MULTI, 1 WATCH k, 1 MULTI, 1 SET k v, 1 EXEC", "SET by 10.0.0.1 of k",
		},
		"after our script": {"1 EVALSHA " + own + " 1 k, lua SET k v, 1 SET k v", "SET by 10.0.0.1 of k"},
		"a call before MONITOR": {
			"lua SET k v",
			"SET in script of unknown name by a client that was not seen of k",
		},
		"conditions that no marker meets": {
			"1 SET k v NX PX 9, 1 SET k v EX 9 GET, 1 EXPIRE k 9 GT, 1 SET k v IFEQ x",
			"",
		},
		"a value that looks like one":        {"1 SET k NX", "SET by 10.0.0.1 of k"},
		"copies that keep their destination": {"1 COPY j k, 1 RESTORE k 0 v, 1 MIGRATE h 1 k 0 9 COPY", ""},
		"copies that replace it": {
			"1 COPY j k REPLACE, 1 RESTORE k 0 v REPLACE",
			"COPY by 10.0.0.1 of k; RESTORE by 10.0.0.1 of k",
		},
		"a sort that stores nothing": {"1 SORT k, 1 GEORADIUS k 1 1 1 km", ""},
		"destinations": {
			"1 SORT j LIMIT 0 9 STORE k, 1 BITOP AND k i j, 1 SUNIONSTORE k i j, 1 ZUNIONSTORE k 1 j",
			"BITOP by 10.0.0.1 of k; SORT by 10.0.0.1 of k; SUNIONSTORE by 10.0.0.1 of k; ZUNIONSTORE by 10.0.0.1 of k",
		},
		"RENAME":                              {"1 RENAME j k", "RENAME by 10.0.0.1 of j k"},
		"every key":                           {"1 FLUSHDB, 1/1 FLUSHDB, 1/2 FLUSHALL", "FLUSHALL by 10.0.0.2; FLUSHDB by 10.0.0.1"},
		"another database":                    {"1/1 SET k v", ""},
		"keys that the cut-over does not use": {"1 SET foreign:1 v, 1 DEL foreign:2", ""},
	} {
		got := monitored(t, func(name string) bool { return !strings.HasPrefix(name, "foreign:") }, strings.Split(tc.lines, ", ")...)
		assert.Equal(t, tc.want, strings.Join(got, "; "), name)
	}
}

// The state of clients that watch and never end their transactions is bounded. The latest ones are known.
func TestMonitorLinesAreBounded(t *testing.T) {
	m := newMonitorLines(proxycompat.Redis(), 0, nil)
	take := func(i int, args ...string) { m.take(live.MonitorLine{Source: fmt.Sprint("10.0.0.1:", i), Args: args}) }
	for i := range 3 * maxWatching {
		take(i, "WATCH", "k", "j")
		take(i, "GET", "k")
	}
	assert.LessOrEqual(t, len(m.clients[0])+len(m.clients[1]), 2*maxWatching)
	assert.True(t, m.client(fmt.Sprint("10.0.0.1:", 3*maxWatching-1)).watched["k"])
	for i := range 2 * maxWatched {
		take(0, "WATCH", fmt.Sprint("k", i))
	}
	assert.Len(t, m.client("10.0.0.1:0").watched, maxWatched)
}

// own-scripts.tsv has every script of the packages that a service uses, so that none of them is named a blind writer.
func TestOwnScripts(t *testing.T) {
	known := newMonitorLines(proxycompat.Redis(), 0, nil).own
	found := 0
	is := func(file, text string) {
		sha := redis.NewScript(text).Hash()
		assert.True(t, known[sha], "add this line to own-scripts.tsv: %s\t%s", sha, strings.TrimPrefix(file, "../../"))
		found++
	}
	for _, dir := range []string{
		"adapters", "cas", "cutover", "domains", "internal/seal", "lock", "lockupdate", "observe", "rmw", "shadow",
	} {
		require.NoError(t, filepath.WalkDir("../../"+dir, func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			switch {
			case strings.HasSuffix(file, ".lua"):
				text, err := os.ReadFile(file)
				is(file, string(text))
				return err
			case strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go"):
				parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
				if err != nil {
					return err
				}
				ast.Inspect(parsed, func(n ast.Node) bool {
					if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && strings.Contains(lit.Value, "redis.call") {
						text, err := strconv.Unquote(lit.Value)
						require.NoError(t, err)
						is(file, text)
					}
					return true
				})
			}
			return nil
		}))
	}
	assert.Greater(t, found, 10)
}

// The profile refuses the commands that docs/cutover.md lists as destroying a marker, and no others. The reads that make
// a WATCH safe are listed as refused there.
func TestBlindWritersAreThoseOfTheDocument(t *testing.T) {
	page, err := os.ReadFile("../../docs/cutover.md")
	require.NoError(t, err)
	row := func(begin string) string {
		_, text, ok := strings.Cut(string(page), "\n| "+begin)
		require.True(t, ok, begin)
		text, _, _ = strings.Cut(text, "\n")
		return text
	}
	words := func(text string) (names []string) {
		for _, word := range regexp.MustCompile(`\b[A-Z]{3,}(_RO)?\b`).FindAllString(text, -1) {
			if _, ok := proxycompat.CommandOf(word); ok {
				names = append(names, word)
			}
		}
		slices.Sort(names)
		return slices.Compact(names)
	}
	profile, err := profilefile.Extend(nil, "blind-writers.yaml", blindWritersProfile)
	require.NoError(t, err)
	var listed, lists []string
	for _, known := range proxycompat.Commands() {
		if profile.Rule(known.Name).Verdict != proxycompat.Refused {
			continue
		}
		if known.Group == "list" {
			lists = append(lists, known.Name)
		} else {
			listed = append(listed, known.Name)
		}
		keys, all := destroys(known, exampleOf(known))
		assert.True(t, all || len(keys) > 0, known.Name)
	}
	assert.Equal(t, words(row("destroyed without an error |")), listed)
	assert.Equal(t, words(row("changed without an error |")), lists)
	for _, known := range proxycompat.Commands() {
		if known.Group == "list" && known.Writes() {
			assert.Contains(t, lists, known.Name)
		}
	}
	refused, harmless := words(row("refused with WRONGTYPE, nothing written |")), words(row("harmless to the marker |"))
	safe := 0
	for _, name := range refused {
		if known, _ := proxycompat.CommandOf(name); refusesMarkers(known) {
			safe++
		}
	}
	assert.GreaterOrEqual(t, safe, 6)
	for _, name := range harmless {
		known, _ := proxycompat.CommandOf(name)
		assert.False(t, refusesMarkers(known), name)
	}
}

// exampleOf returns a call of the command that destroys or changes a marker.
func exampleOf(known proxycompat.Command) []string {
	args := map[string]string{
		"COPY": "j k REPLACE", "RESTORE": "k 0 v REPLACE", "DELEX": "k", "BITOP": "AND k j", "MIGRATE": "h 1 k 0 9",
		"SORT": "j STORE k", "GEORADIUS": "j 1 1 1 km STORE k", "GEORADIUSBYMEMBER": "j m 1 km STORE k", "MSETEX": "1 k v",
		"LMPOP": "1 k LEFT", "BLMPOP": "9 1 k LEFT", "BLPOP": "k 9", "BRPOP": "k 9", "MSET": "k v",
	}[known.Name]
	if args == "" {
		args = "k j 1 v 9"
	}
	return append([]string{known.Name}, strings.Fields(args)...)
}
