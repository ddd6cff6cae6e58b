package integration

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// migrateCheck builds the command.
func migrateCheck(t *testing.T) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "migrate-check")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./cmd/migrate-check")
	build.Dir = ".."
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	return program
}

// serveStatus runs migrate-check cutover status -http until the test ends, and returns its URL.
func serveStatus(t *testing.T, program string, args ...string) (url string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, append([]string{"cutover", "status", "-http", "127.0.0.1:0"}, args...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Wait() }) // the ctx of the test has ended
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	url = regexp.MustCompile(`http://[^/]+`).FindString(line)
	require.NotEmpty(t, url, line)
	return url
}
