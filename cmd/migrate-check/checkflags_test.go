package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
)

const systems = "./testdata/systems"

// A wrong flag is said to be one, with what would be right.
func TestWrongFlags(t *testing.T) {
	for flags, want := range map[string]string{
		"-tests maybe":                   "-tests: want one of off, warn, fail, not maybe",
		"-scope world":                   "-scope: want one of module, deps, all, not world",
		"-reach far":                     "-reach: want cone or none, not far",
		"-reach none -scope deps":        "-scope deps needs -reach cone",
		"-format xml":                    "-format: want one of github, json, sarif, text, not xml",
		"-generated no":                  "-generated: want report or skip, not no",
		"-rules MC9x":                    `-rules: there is no rule "MC9x"`,
		"-lexical cobol":                 `-lexical: there is no language "cobol"`,
		"-profile nginx":                 "-profile: ",
		"-profile none.yaml":             "-profile: ",
		"-write-baseline":                "need a -baseline FILE",
		"-baseline testdata/none.json":   "there is no file testdata/none.json yet; -write-baseline records it",
		"-baseline testdata/policy.json": "record it anew",
	} {
		r := try(t.Context(), append(strings.Fields(flags), systems)...)
		assert.Equal(t, codeError, r.code, flags)
		assert.Contains(t, unwrapped(r.stderr), want)
		assert.Empty(t, r.stdout)
		fits(t, r.stderr)
	}
}

// A baseline is recorded, holds, and burns down.
func TestBaselineFlags(t *testing.T) {
	file := filepath.Join(t.TempDir(), "known.json")
	both := []string{systems, "-os", "linux", "-os", "windows", "-baseline", file}
	r := try(t.Context(), append(both, "-write-baseline")...)
	require.Equal(t, codeOK, r.code, r)
	assert.Contains(t, unwrapped(r.stderr), "records 2 findings")

	r = try(t.Context(), both...)
	assert.Equal(t, codeOK, r.code, r)
	assert.Contains(t, r.stdout, "baseline 2 → 2 [....................]")

	one := []string{systems, "-os", "linux", "-baseline", file, "-allow-incomplete"}
	r = try(t.Context(), one...)
	assert.Equal(t, codeOK, r.code, r)
	assert.Contains(t, r.stdout, "baseline 2 → 1 [##########..........]; 1 gone")
	assert.Equal(t, codeFindings, try(t.Context(), append(one, "-strict-baseline")...).code)

	require.NoError(t, os.WriteFile(file, []byte(`{"version":1,"findings":[]}`), 0o644))
	r = try(t.Context(), one...)
	assert.Equal(t, codeFindings, r.code, "what is not in it is new")
	assert.Equal(t, codeOK, try(t.Context(), append(one, "-exit-zero")...).code)
}

// All formats have the same exit code, and what is written to a file is not printed.
func TestFormats(t *testing.T) {
	for _, format := range []string{"text", "json", "sarif", "github"} {
		file := filepath.Join(t.TempDir(), "out")
		args := []string{systems, "-os", "linux", "-allow-incomplete", "-format", format}
		r := try(t.Context(), args...)
		assert.Equal(t, codeFindings, r.code, format)
		assert.Contains(t, r.stdout, "MC101")
		again := try(t.Context(), append(args, "-o", file)...)
		assert.Equal(t, codeFindings, again.code)
		assert.Empty(t, again.stdout)
		written, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, r.stdout, string(written))
	}
	below := filepath.Join(t.TempDir(), "none", "out")
	assert.Equal(t, codeIncomplete, try(t.Context(), systems, "-os", "linux", "-allow-incomplete", "-o", below).code)
}

// The paths of JSON begin at the module, and its last line has all that is to be counted.
func TestJSONOfACheck(t *testing.T) {
	r := try(t.Context(), systems, "-os", "linux", "-rules", "-MC104", "-format", "json")
	found := findings(t, r.stdout)
	require.Len(t, found, 2)
	at := finding.Place{Path: "cmd/migrate-check/testdata/systems/on_linux.go", Line: 6, Column: 9, Message: found[0].Message}
	assert.Equal(t, at, found[0].Place)
	assert.Contains(t, r.stdout, `"func":"watch"`)
	assert.Contains(t, r.stdout, `"confidence":"high"`)
	assert.Equal(t, finding.Low, found[1].Confidence, "the file that is not built is looked at by its words")
	assert.Equal(t, "cmd/migrate-check/testdata/systems/on_windows.go", found[1].Path)
	var last struct {
		Summary struct {
			Findings, Exit int
			Unseen         []struct {
				Path    string
				Scanned bool
			}
		}
	}
	lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &last))
	assert.Equal(t, 1, last.Summary.Findings, "a file of a test does not count")
	assert.Equal(t, codeBoth, last.Summary.Exit)
	require.Len(t, last.Summary.Unseen, 1)
	assert.True(t, last.Summary.Unseen[0].Scanned)
}

// A command that the proxy of -profile carries out is no finding.
func TestProfileFlag(t *testing.T) {
	args := []string{systems, "-os", "linux", "-allow-incomplete", "-lexical", "none", "-profile"}
	assert.Equal(t, codeFindings, try(t.Context(), append(args, "twemproxy")...).code)
	for _, permits := range []string{"redis@7.0", "blind-writers.yaml"} {
		r := try(t.Context(), append(args, permits)...)
		assert.Equal(t, codeOK, r.code, r)
		assert.Contains(t, r.stdout, "0 findings in 1 package")
	}
}

// The proxy of -profile also decides about code that is searched by words: other languages, and Go without packages.
func TestProfileDecidesByWords(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.py": "import redis\nr = redis.Redis()\nr.keys('*')\nr.blpop('q')\nr.config_get('x')\nr.xread({'s': 0})\n" +
			"r.pipeline(transaction=True)\nr.evalsha('f', 2, 'a', 'b')\nr.execute_command('MEMORY', 'USAGE', 'k')\nr.eval('return redis.call(\"KEYS\", \"*\")', 0)\n" +
			"redis.RedisCluster('h')\nr.psubscribe('__keyspace@0__:*')\n",
		"b.ts":  "import { createClient } from 'redis';\nconst c = createClient();\nawait c.watch('k');\nconst m = c.multi();\nawait m.exec();\n",
		"c.lua": "redis.call('PUBLISH', 'c', 'm')\nredis.call('GET', 'k')\n",
		"d.go": "package d\n\nimport \"github.com/redis/go-redis/v9\"\n\nfunc d(c *redis.Client) {\n" +
			"\tc.Watch(nil, nil, \"k\")\n\tc.TxPipeline()\n}\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	for profile, want := range map[string]string{
		"redis": "",
		"codis": "a.py:3 MC401 a.py:4 MC301 a.py:5 MC701 a.py:6 MC404 a.py:7 MC102 a.py:8 MC505 a.py:9 MC701 a.py:10 MC502 a.py:10 MC504 " +
			"a.py:11 MC601 a.py:12 MC201 a.py:12 MC203 b.ts:3 MC101 b.ts:4 MC102 c.lua:1 MC504 c.lua:2 MC503 d.go:6 MC101 d.go:7 MC102",
		// Predixy over one group of servers carries out transactions, subscriptions and scripts, and knows no streams.
		"predixy-single": "a.py:3 MC401 a.py:5 MC701 a.py:6 MC401 a.py:8 MC505 a.py:9 MC701 a.py:11 MC601 a.py:12 MC203",
	} {
		r := try(t.Context(), "-C", dir, "-profile", profile, "-allow-incomplete", "-format", "json", "./...")
		var found []string
		for _, f := range findings(t, r.stdout) {
			found = append(found, fmt.Sprintf("%s:%d %s", f.Path, f.Line, f.Rule))
		}
		assert.Equal(t, want, strings.Join(found, " "), profile)
		assert.Equal(t, want != "", r.code == codeFindings, profile)
		if want == "" {
			assert.NotContains(t, r.stdout, "the proxy")
		}
	}
}

// Where there is no Go at all, other languages are looked at all the same.
func TestWithoutGo(t *testing.T) {
	dir := t.TempDir()
	app := "import redis\n\nr = redis.Redis()\nr.publish('c', 'm')\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "app.py"), []byte(app), 0o644))
	r := try(t.Context(), dir+"/...")
	assert.Equal(t, codeFindings, r.code, r)
	assert.Contains(t, unwrapped(r.stdout), "app.py:4:")
	assert.Contains(t, unwrapped(r.stdout), "by its words only")
	assert.NotContains(t, r.stdout, "-count-lexical")
	uncounted := try(t.Context(), dir+"/...", "-count-lexical=false")
	assert.Equal(t, codeOK, uncounted.code)
	assert.Contains(t, uncounted.stdout, "1 file of other languages; 1 by words do not count with -count-lexical=false")
	assert.Equal(t, codeIncomplete, try(t.Context(), dir+"/...", "-lexical", "-py").code, "nothing is left to look at")
}

// The summary and the exit code of Go code that no go.mod makes a package of do not say that nothing was found.
func TestWithoutGoMod(t *testing.T) {
	dir := t.TempDir()
	src := "package main\n\nimport \"github.com/redis/go-redis/v9\"\n\nfunc f(rdb *redis.Client) { rdb.Watch(nil, nil, \"k\") }\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.go"), []byte(src), 0o644))
	r := try(t.Context(), dir+"/...")
	assert.Equal(t, codeBoth, r.code, r)
	r = try(t.Context(), dir+"/...", "-allow-incomplete")
	assert.Equal(t, codeFindings, r.code, r)
	assert.Contains(t, unwrapped(r.stdout), "1 finding (1 MC101) in 0 packages")
}

// Where nothing is to be looked at, nothing was found to be well.
func TestNothingThere(t *testing.T) {
	r := try(t.Context(), t.TempDir()+"/...")
	assert.Equal(t, codeIncomplete, r.code, r)
	assert.Contains(t, unwrapped(r.stdout), "neither a Go package nor a file of another language is there")
}

// Colours are for who looks, and has not said otherwise.
func TestColour(t *testing.T) {
	assert.True(t, wantsColour(true, ""))
	assert.False(t, wantsColour(true, "1"))
	assert.False(t, wantsColour(false, ""))
}

func TestExplain(t *testing.T) {
	r := try(t.Context(), "explain")
	assert.Equal(t, codeOK, r.code)
	assert.Contains(t, r.stdout, "MC101 error")
	fits(t, r.stdout)
	r = try(t.Context(), "explain", "mc101", "MC202")
	assert.Equal(t, codeOK, r.code)
	assert.Contains(t, r.stdout, "# MC101: ")
	assert.Contains(t, r.stdout, "# MC202: ")
	r = try(t.Context(), "explain", "MC000")
	assert.Equal(t, codeError, r.code)
	assert.Contains(t, r.stderr, `there is no rule "MC000"`)
}

// findings reads a report in JSON, line by line.
func findings(t *testing.T, report string) (all []finding.Finding) {
	t.Helper()
	for d := json.NewDecoder(strings.NewReader(report)); ; {
		var f finding.Finding
		err := d.Decode(&f)
		if err == io.EOF {
			return all
		}
		require.NoError(t, err)
		if f.Rule != "" { // the last line is the summary
			all = append(all, f)
		}
	}
}

// Code scanning resolves paths from the root of the repository, wherever the check runs.
func TestPathsInTheRepository(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, ".git"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "service"), 0o755))
	app := "import redis\n\nr = redis.Redis()\nr.publish('c', 'm')\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "service", "app.py"), []byte(app), 0o644))
	assert.Contains(t, try(t.Context(), "-C", filepath.Join(dir, "service"), "-format", "sarif", "./...").stdout, `"uri": "service/app.py"`)
	assert.Contains(t, try(t.Context(), "-C", filepath.Join(dir, "service"), "-format", "github", "./...").stdout, "file=service/app.py,")
}

// A transaction by the names of its commands is found without types, on any receiver.
func TestTransactionByNameWithoutTypes(t *testing.T) {
	dir := t.TempDir()
	src := "package a\n\nimport \"github.com/garyburd/redigo/redis\"\n\nvar _ redis.Conn\n\nfunc f(s *session) {\n\tc := s.pooled()\n" +
		"\tc.Do(\"WATCH\", \"k\")\n\tc.Send(\"multi\")\n\tc.Do(\"GET\", \"MULTI\")\n\tc.Do(\"EXEC\")\n}\n"
	etcd := "package a\n\nimport \"github.com/garyburd/redigo/redis\"\n\nvar _ redis.Conn\n\nfunc g(e *etcd) { e.Do(ctx, \"WATCH\") }\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.go"), []byte(src), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b.go"), []byte(etcd), 0o644))
	var found []string
	for _, f := range findings(t, try(t.Context(), "-C", dir, "-format", "json", "./...").stdout) {
		found = append(found, fmt.Sprintf("%s:%d %s", f.Path, f.Line, f.Rule))
	}
	assert.Equal(t, []string{"a.go:9 MC103", "a.go:10 MC103", "a.go:12 MC103"}, found)
}
