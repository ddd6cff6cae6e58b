package migration

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// steps.sh makes a repository of the patches, and the same patches of the repository.
func TestSteps(t *testing.T) {
	script := filepath.Join(root(t), patchDir, "steps.sh")
	repository, out := filepath.Join(t.TempDir(), "steps"), t.TempDir()
	for _, args := range [][]string{{script, "unpack", repository}, {script, "pack", repository, out}} {
		output, err := exec.CommandContext(t.Context(), "bash", args...).CombinedOutput()
		require.NoError(t, err, "%s", output)
	}
	patches := files(t, filepath.Join(root(t), patchDir))
	for name := range patches {
		if !strings.HasSuffix(name, ".patch") {
			delete(patches, name)
		}
	}
	require.Equal(t, patches, files(t, out))
	require.FileExists(t, filepath.Join(repository, "connect.go"), "which comes with the last step")
}
