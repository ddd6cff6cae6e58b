package redistx_test

import (
	"path/filepath"
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/redistx"
)

func Test(t *testing.T) {
	analysistest.Run(t, filepath.Join(analysistest.TestData(), "../../testdata"), redistx.Analyzer,
		"goredis", "goredis6", "older", "redigo", "rueidis", "radix", "helpers", "hidden", "spelled", "wrappers",
		"idle", "silent", "ownnames")
}
