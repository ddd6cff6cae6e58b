package redisnotify_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/internal/trial"
	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/redisnotify"
)

func Test(t *testing.T) {
	found := trial.Run(t, redisnotify.Analyzer, "notify", "silent")
	assert.Len(t, found, 1)
}
