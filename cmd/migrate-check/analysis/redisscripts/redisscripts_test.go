package redisscripts_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/internal/trial"
	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/redisscripts"
)

func Test(t *testing.T) {
	found := trial.Run(t, redisscripts.Analyzer, "scripts", "silent")
	assert.Equal(t, 1, found["MC501/error"], "of keys that are proven to be apart")
	assert.Positive(t, found["MC504/note"], "of scripts that cannot be read")
}
