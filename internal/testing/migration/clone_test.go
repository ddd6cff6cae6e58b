package migration

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	serviceDir = "examples/legacy-service"
	patchDir   = "docs/migration"
)

// root is the root of the repository.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../..")
	require.NoError(t, err)
	return dir
}

// clone is a folder in which the commands of the document work as in a clone of the repository.
type clone struct{ dir string }

func newClone(t *testing.T) *clone {
	t.Helper()
	for _, tool := range []string{"go", "git"} {
		_, err := exec.LookPath(tool)
		require.NoError(t, err, "this test plays the migration with the %s command", tool)
	}
	c := &clone{t.TempDir()}
	for _, dir := range []string{serviceDir, patchDir} {
		require.NoError(t, os.CopyFS(filepath.Join(c.dir, dir), os.DirFS(filepath.Join(root(t), dir))))
	}
	mod, err := os.ReadFile(filepath.Join(root(t), "go.mod"))
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(mod), "\n") // all but the name
	c.write(t, "go.mod", fmt.Sprintf("module example.com/migrating\n%s\nrequire %[2]s v0.0.0\n\nreplace %[2]s => %[3]s\n",
		rest, "github.com/unwatch/unwatch", strconv.Quote(root(t))))
	sum, err := os.ReadFile(filepath.Join(root(t), "go.sum"))
	require.NoError(t, err)
	c.write(t, "go.sum", string(sum))
	c.write(t, serviceDir+"/"+serveFile, serve)
	return c
}

// serve lets the service's test binary act as the service, so that each step is compiled and linked once.
const (
	serveFile = "serve_for_internal_migration_test.go"
	serve     = `package main

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if os.Getenv("SERVE") == "" {
		os.Exit(m.Run())
	}
	main()
}
`
)

func (c *clone) write(t *testing.T, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o644))
}

// run executes a command of the document and returns its output. Its flags make tests more verbose and keep
// the test binary.
func (c *clone) run(t *testing.T, command string) (output string, err error) {
	t.Helper()
	words := strings.Fields(command)
	cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(),
		"GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=mod -count=1 -v -vet=off -ldflags=-s -o="+c.program(),
		"GOPROXY=off", "GOWORK=off", "GOTOOLCHAIN=local",
		"GIT_CEILING_DIRECTORIES="+filepath.Dir(c.dir)) // excludes a surrounding repository
	text, err := cmd.CombinedOutput()
	return string(text), err
}

func (c *clone) mustRun(t *testing.T, command string) string {
	t.Helper()
	output, err := c.run(t, command)
	require.NoError(t, err, "%s\n%s", command, output)
	return output
}

// program is the binary of the last go test.
func (c *clone) program() string { return filepath.Join(c.dir, "service.test") }

// keep saves the binary.
func (c *clone) keep(t *testing.T, name string) (program string) {
	t.Helper()
	program = filepath.Join(c.dir, name)
	require.NoError(t, os.Rename(c.program(), program))
	return program
}

// service returns the files of the service.
func (c *clone) service(t *testing.T) map[string]string {
	t.Helper()
	return files(t, filepath.Join(c.dir, serviceDir))
}

func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	require.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		if name != serveFile {
			texts[name] = string(text)
		}
		return err
	}))
	return texts
}

// control breaks two rules of the migration after step 7, and requires that the service's tests detect
// both: one writer still publishes, and the epoch is not stored.
func (c *clone) control(t *testing.T) {
	t.Helper()
	for file, change := range map[string][2]string{
		"rooms.go":       {"events, err = rule(", "s.rdb.Publish(ctx, id, \"news\")\n\t\tevents, err = rule("},
		"session_doc.go": {"Header: s.Header, Epoch: s.Epoch, session:", "Header: s.Header, session:"},
	} {
		text := c.service(t)[file]
		require.Equal(t, 1, strings.Count(text, change[0]), "%s has %q once", file, change[0])
		c.write(t, serviceDir+"/"+file, strings.Replace(text, change[0], change[1], 1))
		defer c.write(t, serviceDir+"/"+file, text)
	}
	output, err := c.run(t, "go test -run TestWhatAProxyWouldRefuse|TestProcessesStall ./"+serviceDir)
	require.Error(t, err)
	require.Contains(t, output, "--- FAIL: TestWhatAProxyWouldRefuse")
	require.Contains(t, output, "--- FAIL: TestProcessesStall")
}
