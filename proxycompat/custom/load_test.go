package custom_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat/custom"
)

func TestOpen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rooms")
	require.NoError(t, os.WriteFile(file, []byte("name: rooms\nbase: codis@3.2\nabout: ours\ntitle: ours\n"), 0o600))
	for given, want := range map[string]string{
		"codis": "codis", "CODIS": "codis", "codis@3.2": "codis@3.2", "envoy-old@7.0": "envoy-old@7.0", file: "rooms",
	} {
		p, err := custom.Open(given)
		require.NoError(t, err, given)
		assert.Equal(t, want, p.Name(), given)
	}
	for given, want := range map[string]string{
		"haproxy": "known are alibaba, ", "codis@new": "bad version", "missing.yaml": "missing.yaml", "./missing": "missing",
	} {
		_, err := custom.Open(given)
		require.ErrorContains(t, err, want, given)
	}
}
