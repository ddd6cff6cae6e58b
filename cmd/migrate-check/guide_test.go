package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/long"
)

const guided = `// Package guided has a transaction that is one command, and one that is not.
package guided

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Put stores a value.
func Put(ctx context.Context, rdb *redis.Client, v string) error {
	_, err := rdb.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.Set(ctx, "k", v, 0)
		return nil
	})
	return err
}

// Move moves a value.
func Move(ctx context.Context, rdb *redis.Client, v string) error {
	_, err := rdb.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.Del(ctx, "old")
		pipe.Set(ctx, "new", v, 0)
		return nil
	})
	return err
}
`

// The guide's commands do what it says, for somebody who has installed the program.
func TestLongGuide(t *testing.T) {
	long.Only(t)
	script, err := filepath.Abs("../../docs/migrate-check.sh")
	require.NoError(t, err)
	bin, dir := t.TempDir(), t.TempDir()
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(bin, "migrate-check"), ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	write := func(name string, data []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o644))
	}
	mod, err := os.ReadFile("../../go.mod")
	require.NoError(t, err)
	sum, err := os.ReadFile("../../go.sum")
	require.NoError(t, err)
	write("go.mod", regexp.MustCompile(`(?m)^module .*$`).ReplaceAll(mod, []byte("module example.com/guided")))
	write("go.sum", sum)
	write("guided.go", []byte(guided))

	cmd := exec.CommandContext(t.Context(), "bash", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err = cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	text := unwrapped(string(out))
	assert.Contains(t, text, "records 2 findings")
	assert.Contains(t, text, "baseline 2 → 2")
	assert.Contains(t, text, `one command: rdb.Set(ctx, "k", v, 0) (MC102)`)
	assert.Contains(t, text, "a batch of several keys")
}
