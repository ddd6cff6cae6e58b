package redisscripts_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/internal/trial"
	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/profile"
	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/redisscripts"
)

// Without a proxy there is nothing to find.
func TestWithoutAProxy(t *testing.T) {
	require.NoError(t, profile.Analyzer.Flags.Set(profile.Flag, "redis"))
	t.Cleanup(func() { require.NoError(t, profile.Analyzer.Flags.Set(profile.Flag, profile.Default)) })
	trial.Run(t, redisscripts.Analyzer, "direct")
}
