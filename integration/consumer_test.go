package integration

import (
	"archive/zip"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// consumer is a service in its own module, with go 1.23 and go-redis 9.11, that gets this checkout from a
// file-based module proxy, as version v0.0.1.
type consumer struct {
	t   *testing.T
	dir string
	env []string
}

func newConsumer(t *testing.T) consumer {
	t.Helper()
	c := consumer{t: t, dir: t.TempDir(), env: os.Environ()}
	proxy := t.TempDir()
	publish(t, proxy, "github.com/unwatch/unwatch", "v0.0.1", os.DirFS(".."))
	older := t.TempDir() // replaces go-redis 9.11, which is not downloaded here
	c.write(older, "go.mod", "module github.com/redis/go-redis/v9\n\ngo 1.18\n")
	c.write(older, "redis.go", `package redis

import "context"

type (
	Tx      struct{}
	Options struct{ Addr string }
	Client  struct{}
)

func NewClient(*Options) *Client { return nil }

func (*Client) Watch(context.Context, func(*Tx) error, ...string) error { return nil }
`)
	publish(t, proxy, "github.com/redis/go-redis/v9", "v9.11.0", os.DirFS(older))
	downloaded := strings.TrimSpace(c.run("go", "env", "GOMODCACHE"))
	c.env = append(c.env,
		"GOPROXY=file://"+proxy+",file://"+filepath.Join(downloaded, "cache", "download"),
		// The content of the version changes with the checkout, so the user's cache must not store it.
		"GOMODCACHE="+filepath.Join(t.TempDir(), "mod"),
		// -trimpath lets the build cache serve modules wherever they are.
		"GOFLAGS="+os.Getenv("GOFLAGS")+" -modcacherw -trimpath", "GOSUMDB=off", "GOWORK=off", "GOTOOLCHAIN=local")
	c.write(c.dir, "go.mod", "module example.com/shop\n\ngo 1.23\n\nrequire github.com/redis/go-redis/v9 v9.11.0\n")
	c.write(c.dir, "main.go", `package main

import (
	"context"

	"github.com/redis/go-redis/v9"
)

func main() {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})
	_ = rdb.Watch(context.Background(), func(*redis.Tx) error { return nil }, "stock")
}
`)
	c.run("go", "get", ".")
	return c
}

// publish adds a version of a module to a file-based proxy.
func publish(t *testing.T, proxy, module, version string, files fs.FS) {
	t.Helper()
	at := filepath.Join(proxy, filepath.FromSlash(module), "@v")
	require.NoError(t, os.MkdirAll(at, 0o755))
	mod, err := fs.ReadFile(files, "go.mod")
	require.NoError(t, err)
	for name, text := range map[string]string{
		"list": version + "\n", version + ".info": `{"Version":"` + version + `"}`, version + ".mod": string(mod),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(at, name), []byte(text), 0o600))
	}
	f, err := os.Create(filepath.Join(at, version+".zip"))
	require.NoError(t, err)
	defer f.Close()
	archive := zip.NewWriter(f)
	require.NoError(t, fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		switch _, nested := fs.Stat(files, path+"/go.mod"); {
		case err != nil:
			return err
		case path != "." && entry.IsDir() && (nested == nil || entry.Name() == ".git"):
			return fs.SkipDir
		case !entry.Type().IsRegular():
			return nil
		}
		data, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		w, err := archive.Create(module + "@" + version + "/" + path)
		if err == nil {
			_, err = w.Write(data)
		}
		return err
	}))
	require.NoError(t, archive.Close())
}

func (c consumer) write(dir, name, text string) {
	c.t.Helper()
	require.NoError(c.t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
}

// try runs a command in the service's folder.
func (c consumer) try(command ...string) (output string, err error) {
	cmd := exec.CommandContext(c.t.Context(), command[0], command[1:]...)
	cmd.Dir, cmd.Env = c.dir, c.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (c consumer) run(command ...string) string {
	c.t.Helper()
	out, err := c.try(command...)
	require.NoError(c.t, err, out)
	return out
}

// requirements returns the service's go.mod and go.sum.
func (c consumer) requirements() string {
	c.t.Helper()
	mod, err := os.ReadFile(filepath.Join(c.dir, "go.mod"))
	require.NoError(c.t, err)
	sum, err := os.ReadFile(filepath.Join(c.dir, "go.sum"))
	require.NoError(c.t, err)
	return string(mod) + string(sum)
}

// readme returns the text of the README between two markers.
func readme(t *testing.T, from, to string) string {
	t.Helper()
	data, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	_, text, found := strings.Cut(string(data), from)
	require.True(t, found, from)
	text, _, found = strings.Cut(text, to)
	require.True(t, found, to)
	return text
}

// The commands of the README check a service that has no toolchain line, no newer go-redis and no
// requirement for it, and do not change its go.mod and go.sum.
func TestLongCheckingAServiceKeepsItsModule(t *testing.T) {
	t.Parallel()
	long.Only(t)
	c := newConsumer(t)
	before := c.requirements()
	command := readme(t, "in your code? [On servers](docs/migrate-check-live.md)?\n\n```sh\n", "\n```")
	out, err := c.try(strings.Fields(command)...)
	require.Error(t, err, "its WATCH is a finding")
	assert.Contains(t, out, "main.go:11:")
	assert.Contains(t, out, "(MC101)")
	assert.Contains(t, out, "exit status 3")
	codis, err := proxytest.Start(proxytest.Config{Engines: 2})
	require.NoError(t, err)
	defer codis.Close()
	probe := readme(t, "what does it refuse?\n\n```sh\n", "\n```")
	assert.Contains(t, c.run(strings.Fields(strings.Replace(probe, "HOST:PORT", codis.Addr(), 1))...), "WATCH does not work here")
	assert.Equal(t, before, c.requirements())

	// Negative control: without a version the package has to be required first.
	unversioned := strings.Fields(strings.Replace(command, "@latest", "", 1))
	out, err = c.try(unversioned...)
	require.Error(t, err)
	assert.Contains(t, out, "no required module provides package")
	c.run("go", "get", unversioned[2])
	assert.Contains(t, c.requirements(), "go 1.26")
	assert.NotContains(t, c.requirements(), "go-redis/v9 v9.11.0\n")
}

var snippet = regexp.MustCompile("(?s)<!-- snippet: examples/quickstart/main.go#(\\w+) -->\n```go\n(.*?)```")

// The README's go get, connection and Update make a program, which updates a room through a proxy.
func TestLongQuickStartOfAService(t *testing.T) {
	t.Parallel()
	long.Only(t)
	c := newConsumer(t)
	c.run(strings.Fields(readme(t, "## Get it\n\n```sh\n", "\n```"))...)
	part := map[string]string{}
	for _, s := range snippet.FindAllStringSubmatch(readme(t, "## Get it", "## What is promised"), -1) {
		part[s[1]] = s[2]
	}
	update := ""
	for line := range strings.Lines(readme(t, "```diff\n", "```")) {
		if text, added := strings.CutPrefix(line, "+"); added {
			update += text
		}
	}
	c.write(c.dir, "main.go", `package main

import (
	"context"
	"os"
	"time"

`+part["imports"]+`)

func add(room, member string) string { return room + " " + member }

func main() {
	proxyAddr := os.Args[1]
`+part["connect"]+`
	for _, member := range os.Args[2:] {
		if err := join(context.Background(), store, "7", member); err != nil {
			panic(err)
		}
	}
}

`+update)
	for _, version := range []string{"go 1.26", "github.com/redis/go-redis/v9 v9.23.0"} {
		assert.Contains(t, c.requirements(), version, "README says so")
	}
	codis, err := proxytest.Start(proxytest.Config{Engines: 1})
	require.NoError(t, err)
	defer codis.Close()
	c.run("go", "run", ".", codis.Addr(), "ada", "bob")
	room, err := codis.Engine(0).Get("room:7")
	require.NoError(t, err)
	assert.Equal(t, " ada bob", room)

	// Negative control: the program sends its updates to the address that it is given.
	const nobody = "127.0.0.1:1" // a port that no program listens on
	out, err := c.try("go", "run", ".", nobody, "eve")
	require.Error(t, err)
	assert.Contains(t, out, nobody)
}

var (
	shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")
	findings   = regexp.MustCompile("(?s)```text\n(\\d+ findings .*?)```")
)

// The example of docs/migration.md migrates in a module of its own, over the published version. Of the
// page's commands, go test runs after the last step only: package internal/testing/migration runs it after each.
func TestLongMigrationOfAService(t *testing.T) {
	t.Parallel()
	long.Only(t)
	c := newConsumer(t)
	c.env = append(c.env, "GIT_CEILING_DIRECTORIES="+filepath.Dir(c.dir)) // excludes a surrounding repository
	c.run("go", "get", "github.com/unwatch/unwatch@latest")
	published := strings.TrimSpace(c.run("go", "list", "-m", "-f", "{{.Dir}}", "github.com/unwatch/unwatch"))
	const service = "examples/legacy-service"
	for _, dir := range []string{service, "docs/migration"} {
		require.NoError(t, os.CopyFS(filepath.Join(c.dir, dir), os.DirFS(filepath.Join(published, dir))))
	}
	page, err := os.ReadFile(filepath.Join(published, "docs/migration.md"))
	require.NoError(t, err)
	codis, err := proxytest.Start(proxytest.Config{Engines: 2})
	require.NoError(t, err)
	defer codis.Close()

	var reports, test string
	for _, block := range shellBlock.FindAllStringSubmatch(string(page), -1) {
		for command := range strings.Lines(block[1]) {
			command = strings.TrimSpace(command)
			switch {
			case strings.HasPrefix(command, "go test "):
				test = command
			case strings.HasPrefix(command, "go run "): // outside of a clone it needs a version
				command = strings.Replace(command, "cmd/migrate-check ", "cmd/migrate-check@latest ", 1)
				reports += c.run(strings.Fields(strings.Replace(command, "HOST:PORT", "-timeout 1m "+codis.Addr(), 1))...)
			case strings.HasPrefix(command, "git apply "):
				c.run(strings.Fields(command)...)
				c.run("go", "get", "-t", "./"+service)
			default:
				c.run(strings.Fields(command)...)
			}
		}
	}
	c.run(strings.Fields(test)...)
	reported := findings.FindAllStringSubmatch(string(page), -1)
	require.Len(t, reported, 2)
	for _, r := range reported {
		assert.Contains(t, reports, r[1])
	}

	// Negative control: another module cannot import an internal package.
	c.write(filepath.Join(c.dir, service), "clone.go", "package main\n\nimport _ \"github.com/unwatch/unwatch/internal/redisx\"\n")
	out, err := c.try("go", "vet", "./"+service)
	require.Error(t, err)
	assert.Contains(t, out, "use of internal package")
}
