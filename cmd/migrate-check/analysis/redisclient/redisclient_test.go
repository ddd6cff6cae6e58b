package redisclient_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/internal/trial"
	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/redisclient"
)

func Test(t *testing.T) {
	found := trial.Run(t, redisclient.Analyzer, "clients", "silent")
	assert.Equal(t, 3, found["MC602/warning"], "of HELLO 3")
	assert.Equal(t, 1, found["MC602/note"], "of CLIENT SETINFO")
}
