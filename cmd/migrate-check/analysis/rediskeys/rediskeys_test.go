package rediskeys_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/analysis"

	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/internal/trial"
	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/profile"
	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/rediskeys"
)

func Test(t *testing.T) {
	found := trial.Run(t, rediskeys.Analyzer, "keys", "keyslots", "keytricks", "keydecoys", "batches", "silent")
	assert.Equal(t, 4, found["MC402/error"], "of keys that are proven to be apart")
	assert.Equal(t, 1, found["MC404/warning"], "of commands that nobody knows")
	assert.Equal(t, 1, found["MC405/note"], "of a tag that may be meant so")
}

func TestSplit(t *testing.T) {
	set(t, rediskeys.Analyzer, rediskeys.SplitFlag, "true", "false")
	trial.Run(t, rediskeys.Analyzer, "keysplit")
}

// What is found is what the profile says.
func TestProfiles(t *testing.T) {
	for name, fixture := range map[string]string{"twemproxy": "twemproxy", "cluster": "oneslot", "redis": "direct"} {
		t.Run(name, func(t *testing.T) {
			set(t, profile.Analyzer, profile.Flag, name, profile.Default)
			trial.Run(t, rediskeys.Analyzer, fixture)
		})
	}
}

// A profile that says which server is behind finds arguments that this does not know.
func TestArgumentsNewerThanTheServer(t *testing.T) {
	set(t, profile.Analyzer, profile.Flag, "codis@3.2", profile.Default)
	found := trial.Run(t, rediskeys.Analyzer, "arguments")
	assert.Equal(t, 2, found["MC401/warning"], "of a map or a struct whose size is not known")
}

func set(t *testing.T, a *analysis.Analyzer, flag, value, before string) {
	t.Helper()
	require.NoError(t, a.Flags.Set(flag, value))
	t.Cleanup(func() { require.NoError(t, a.Flags.Set(flag, before)) })
}
