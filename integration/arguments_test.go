package integration_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/proxycompat"
)

// noArguments are the changes after Redis 3.2 that make no argument newer than its command.
var noArguments = map[string]string{
	"ACL GETUSER 6.2":   "the reply",
	"ACL GETUSER 7.0":   "the reply",
	"CLIENT LIST 6.0":   "the reply",
	"CLIENT LIST 7.0":   "the reply",
	"CLUSTER SLOTS 4.0": "the reply",
	"CLUSTER SLOTS 7.0": "the reply",
	"SLOWLOG GET 4.0":   "the reply",
	"XAUTOCLAIM 7.0":    "the reply",
	"XINFO GROUPS 7.0":  "the reply",
	"XINFO STREAM 7.0":  "the reply",
	"COMMAND INFO 7.0":  "an argument less; older servers answer without names, too",
	"HELLO 6.2":         "an argument less; no client of ours sends HELLO without a version",
}

var option = regexp.MustCompile("`([A-Z]+)`")

// arguments.tsv has a row for each change of arguments that the server's own COMMAND DOCS tell.
func TestArgumentsMatchCommandDocs(t *testing.T) {
	file, err := os.ReadFile("../proxycompat/arguments.tsv")
	require.NoError(t, err)
	words := map[string]string{} // by command and version
	for line := range strings.Lines(string(file)) {
		if f := strings.Split(line, "\t"); !strings.HasPrefix(line, "#") {
			for command := range strings.SplitSeq(f[0], ",") {
				words[command+" "+f[1]] += f[2] + " "
			}
		}
	}
	rdb := redis.NewClient(&redis.Options{Addr: servers.Redis(t).Addr})
	defer func() { require.NoError(t, rdb.Close()) }()
	docs, err := rdb.Do(t.Context(), "COMMAND", "DOCS").Result()
	require.NoError(t, err)
	told := map[string]bool{}
	each(docs, func(command, since, text string) {
		v, err := proxycompat.ParseVersion(since)
		require.NoError(t, err)
		change := fmt.Sprintf("%s %v", command, v)
		told[change] = true
		row, known := words[change]
		if (proxycompat.Version{Major: 3, Minor: 2}).Before(v) && noArguments[change] == "" {
			assert.True(t, known, "no row: %s: %s", change, text)
			for _, o := range option.FindAllStringSubmatch(text, -1) {
				assert.Regexp(t, `\b`+o[1]+`\b`, row, "%s: %s", change, text)
			}
		}
	})
	for change := range noArguments {
		assert.True(t, told[change], "not in COMMAND DOCS: %s", change)
	}
}

// each yields the history of every command and subcommand.
func each(docs any, yield func(command, since, text string)) {
	commands, _ := docs.(map[any]any)
	for name, doc := range commands {
		fields, _ := doc.(map[any]any)
		history, _ := fields["history"].([]any)
		for _, h := range history {
			entry := h.([]any)
			yield(strings.ToUpper(strings.ReplaceAll(name.(string), "|", " ")), entry[0].(string), entry[1].(string))
		}
		each(fields["subcommands"], yield)
	}
}
