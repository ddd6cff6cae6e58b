package reporttest_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/reporttest"
	"github.com/unwatch/unwatch/shadow/report"
)

func TestExamplesAreDeterministic(t *testing.T) {
	for name, example := range map[string]func() *report.Report{
		"ready": reporttest.Ready, "not ready": reporttest.NotReady, "thin": reporttest.Thin,
		"empty": reporttest.Empty, "fleet": reporttest.Fleet,
	} {
		first, err := json.Marshal(example())
		require.NoError(t, err)
		second, err := json.Marshal(example())
		require.NoError(t, err)
		assert.Equal(t, string(first), string(second), name)
		t.Log(name, len(first))
	}
}
