package main

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tree writes files, by their paths, into a new folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	}
	return dir
}

// goRedis looks like go-redis, and needs no other module.
const goRedis = `package redis

import "context"

type Cmd struct{}

type Client struct{}

func (*Client) Do(ctx context.Context, args ...any) *Cmd { return nil }

func (*Client) Watch(ctx context.Context, fn func() error, keys ...string) error { return nil }
`

// A name of a file or a text in the code reaches neither the terminal nor the CI runner, in no
// format: see https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands.
func TestHostileNames(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such names")
	}
	const python = "import redis\nr = redis.Redis()\nr.publish('a', 'b')\n"
	dir := tree(t, map[string]string{
		"go.mod":                  "module example.com/m\n\ngo 1.26.0\n",
		"go-redis/redis/redis.go": goRedis,
		"own.go": "package m\n\nimport (\n\t\"context\"\n\n\t\"example.com/m/go-redis/redis\"\n)\n\n" +
			"func own(ctx context.Context, rdb *redis.Client) error {\n" +
			"\trdb.Do(ctx, \"\\x1b[31mEVIL\\x1b]0;t\\x07\", \"k\")\n" +
			"\trdb.Do(ctx, \"::error::EVIL\", \"k\")\n" +
			"\trdb.Do(ctx, \"##[error]EVIL\", \"k\")\n" +
			"\treturn rdb.Watch(ctx, func() error { return nil }, \"k\")\n}\n",
		"a\x1b[31m.go":        "//go:build other\n\npackage m\n\nimport _ \"example.com/m/go-redis/redis\"\n",
		"broken/b.go":         "package broken\n\nimport _ \"example.com/\x1b[31m/go-redis/redis\"\n",
		"nl\n::error::pwn.py": python, "::error::pwn.py": python, "esc\x1b[31m.py": python, "a ##[error]x.py": python,
		"dir\n::warning::y/x.py": python,
	})
	t.Chdir(dir)
	check := func(what, text string, own *regexp.Regexp) {
		t.Helper()
		for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
			for _, c := range line {
				if c != '\t' && !unicode.IsGraphic(c) {
					t.Errorf("%s: %U in %q", what, c, line)
					break
				}
			}
			if own != nil && own.MatchString(line) {
				continue
			}
			assert.NotRegexp(t, `^\s*::|##\[`, line, what)
		}
	}
	for format, own := range map[string]*regexp.Regexp{
		"text": nil, "json": nil, "sarif": nil, "github": regexp.MustCompile(`^::(error|warning|notice) (file=|title=migrate-check)`),
	} {
		r := try(t.Context(), "./...", "-format", format, "-traces")
		assert.Equal(t, codeBoth, r.code, r.stderr)
		assert.Contains(t, r.stdout, "MC101", format)
		assert.Contains(t, r.stdout, "EVIL", format)
		assert.Contains(t, r.stdout, "pwn.py", format)
		check(format, r.stdout, own)
		check(format+", stderr", r.stderr, nil)
	}
	file := filepath.Join(t.TempDir(), "known.json")
	r := try(t.Context(), "./...", "-allow-incomplete", "-baseline", file, "-write-baseline")
	require.Equal(t, codeOK, r.code, r)
	known, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Contains(t, string(known), "pwn.py")
	check("the baseline", string(known), nil)
	check("stderr", try(t.Context(), "./none\x1b[31m\n::error::x").stderr, nil)
	check("stderr", try(t.Context(), "./...", "-baseline", "none\x1b[31m\n::error::x").stderr, nil)
}

// The go command adds a missing requirement to go.mod in some modes.
func TestGoModIsNotChanged(t *testing.T) {
	const mod = "module example.com/m\n\ngo   1.26.0\n\nreplace example.com/lib => ./lib\n"
	for _, flags := range []string{"", "-mod=mod"} {
		t.Run("GOFLAGS="+flags, func(t *testing.T) {
			dir := tree(t, map[string]string{
				"go.mod": mod, "go-redis/redis/redis.go": goRedis,
				"lib/go.mod": "module example.com/lib\n\ngo 1.26.0\n", "lib/lib.go": "package lib\n",
				"other/other.go": "package other\n\nimport _ \"example.com/lib\"\n",
				"own.go": "package m\n\nimport (\n\t\"context\"\n\n\t\"example.com/m/go-redis/redis\"\n)\n\n" +
					"func own(ctx context.Context, rdb *redis.Client) error {\n" +
					"\treturn rdb.Watch(ctx, func() error { return nil }, \"k\")\n}\n",
			})
			t.Setenv("GOFLAGS", os.Getenv("GOFLAGS")+" "+flags)
			for _, args := range [][]string{{}, {"-os", "linux"}} {
				r := try(t.Context(), append(append([]string{"-C", dir}, args...), "./...")...)
				require.Contains(t, r.stdout+r.stderr, "MC101", r)
			}
			text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
			require.NoError(t, err)
			require.Equal(t, mod, string(text))
		})
	}
}
