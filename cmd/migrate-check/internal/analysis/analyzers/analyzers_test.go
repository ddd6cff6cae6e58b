package analyzers_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/analysis"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/analyzers"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/profile"
)

// fixtures lists the fixtures of each analyzer, which have their expectations in comments.
func fixtures() map[string][]string {
	return map[string][]string{
		"redistx": {
			"goredis", "goredis6", "older", "redigo", "rueidis", "radix", "helpers", "hidden", "spelled", "wrappers",
			"idle", "shapes", "silent", "ownnames", "owntypes",
		},
		"redispubsub":  {"pubsub", "wrapped", "ownnames"},
		"redisunknown": {"unknown"},
		"rediskeys":    {"keys", "keyslots", "keytricks", "keydecoys", "batches", "silent"},
		"redisclient":  {"clients", "silent"},
		"redisnotify":  {"notify", "silent"},
		"redisscripts": {"scripts", "silent"},
	}
}

func Test(t *testing.T) {
	all := map[*analysis.Analyzer][]string{}
	for _, a := range analyzers.All() {
		require.NotEmpty(t, fixtures()[a.Name])
		all[a] = fixtures()[a.Name]
	}
	found := trial(t, all)
	keys, clients, scripts := found["rediskeys"], found["redisclient"], found["redisscripts"]
	assert.Equal(t, 4, keys["MC402/error"], "of keys that are proven to be apart")
	assert.Equal(t, 1, keys["MC404/warning"], "of commands that nobody knows")
	assert.Equal(t, 1, keys["MC405/note"], "of a tag that may be meant so")
	assert.Equal(t, 3, clients["MC602/warning"], "of HELLO 3")
	assert.Equal(t, 1, clients["MC602/note"], "of CLIENT SETINFO")
	assert.Equal(t, 1, scripts["MC501/error"], "of keys that are proven to be apart")
	assert.Positive(t, scripts["MC504/note"], "of scripts that cannot be read")
	assert.Len(t, found["redisnotify"], 1)
}

func TestSplit(t *testing.T) {
	keys := analyzers.Named(analyzers.Keys)
	set(t, keys, analyzers.SplitFlag, "true", "false")
	trial(t, map[*analysis.Analyzer][]string{keys: {"keysplit"}})
}

// The profile decides about findings. Without a proxy there are none.
func TestProfiles(t *testing.T) {
	for _, test := range []struct{ profile, fixture, analyzers string }{
		{"twemproxy", "twemproxy", "rediskeys"},
		{"cluster", "oneslot", "rediskeys"},
		{"redis", "direct", "rediskeys redisclient redisnotify redisscripts"},
	} {
		t.Run(test.profile, func(t *testing.T) {
			set(t, profile.Analyzer, profile.Flag, test.profile, profile.Default)
			all := map[*analysis.Analyzer][]string{}
			for name := range strings.FieldsSeq(test.analyzers) {
				all[analyzers.Named(name)] = []string{test.fixture}
			}
			trial(t, all)
		})
	}
}

// A profile with the version of the server finds arguments that the server does not know.
func TestArgumentsNewerThanTheServer(t *testing.T) {
	set(t, profile.Analyzer, profile.Flag, "codis@3.2", profile.Default)
	found := trial(t, map[*analysis.Analyzer][]string{analyzers.Named(analyzers.Keys): {"arguments"}})[analyzers.Keys]
	assert.Equal(t, 2, found["MC401/warning"], "of a map or a struct whose size is not known")
}

// go vet and golangci-lint print the description of each analyzer.
func TestDescriptions(t *testing.T) {
	require.NoError(t, analysis.Validate(analyzers.All()))
	for _, a := range analyzers.All() {
		assert.NotContains(t, a.Doc, "# Analyzer", a.Name)
		assert.NotContains(t, a.Doc, "//", a.Name)
		assert.Regexp(t, `MC\d\d\d`, a.Doc, a.Name)
		assert.Same(t, a, analyzers.Named(a.Name))
	}
	assert.Nil(t, analyzers.Named("redis"))
}

func set(t *testing.T, a *analysis.Analyzer, flag, value, before string) {
	t.Helper()
	require.NoError(t, a.Flags.Set(flag, value))
	t.Cleanup(func() { require.NoError(t, a.Flags.Set(flag, before)) })
}
