package migration

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/long"
)

// The changes of step 2 to a file that migrate-check rewrites are exactly those of migrate-check, so that
// users get them automatically.
func TestLongToolWritesPartOfStep2(t *testing.T) {
	long.Only(t)
	const fix = "go run github.com/unwatch/unwatch/cmd/migrate-check -exit-zero -fix ./" + serviceDir + "/..."
	require.Contains(t, readDocument(t), "`migrate-check -fix ./"+serviceDir+"/...`")
	steps, _ := parse(readDocument(t))
	tool, hand := newClone(t), newClone(t)
	for _, c := range []*clone{tool, hand} {
		steps[0].apply(t, c)
	}
	before := tool.service(t)
	tool.mustRun(t, fix)
	steps[1].apply(t, hand)
	patched := hand.service(t)
	var rewritten []string
	for name, text := range tool.service(t) {
		if text != before[name] {
			rewritten = append(rewritten, name)
			require.Equal(t, patched[name], text, name)
		}
	}
	require.Equal(t, []string{"queues.go"}, rewritten)
}
