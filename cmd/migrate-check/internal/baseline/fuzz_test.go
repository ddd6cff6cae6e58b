package baseline_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/baseline"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
)

// FuzzRead: Read refuses a file with an error that names it, or the baseline survives writing and reading, and can be
// applied.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"", "null", "[]", "{}", `{"version":1}`, `{"version":2,"findings":[]}`,
		`{"version":1,"findings":[{"fingerprint":"a","rule":"MC101"}]}`,
		`{"version":1,"findings":null}`, `{"version":1,"findings":[{},{}]} x`, `{"version":1e99}`,
		`{"version":1,"findings":[{"path":"\ud800"}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		file := filepath.Join(t.TempDir(), "baseline.json")
		require.NoError(t, os.WriteFile(file, text, 0o600))
		b, err := baseline.Read(file)
		if err != nil {
			require.ErrorContains(t, err, file)
			return
		}
		found := []finding.Finding{{Rule: "MC101", Fingerprint: "a"}, {Rule: "MC102"}}
		down := b.Apply(found)
		require.Equal(t, len(b.Findings), down.Recorded)
		require.NoError(t, b.Write(file))
		again, err := baseline.Read(file)
		require.NoError(t, err)
		require.Equal(t, b, again)
	})
}
