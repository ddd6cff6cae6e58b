package redispubsub_test

import (
	"path/filepath"
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/redispubsub"
)

func Test(t *testing.T) {
	analysistest.Run(t, filepath.Join(analysistest.TestData(), "../../testdata"), redispubsub.Analyzer,
		"pubsub", "wrapped", "ownnames")
}
