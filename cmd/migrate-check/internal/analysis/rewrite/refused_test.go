package rewrite_test

import (
	"cmp"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/analysis/analysistest"
	"golang.org/x/tools/txtar"
)

// A shape that is not a known one, and a change that would alter the behaviour or not compile, are refused.
func TestRefused(t *testing.T) {
	analysistest.Run(t, testdata(), probe(""), "pipelines", "generated", "goredis6only")
	analysistest.Run(t, expanded(t), probe(""), "refused", "traps")
}

// expanded creates a GOPATH, and returns its path. It has a package for each of testdata/refused.txtar and
// testdata/traps.txtar, and copies of the packages that these import.
func expanded(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(dir, "src/github.com"), os.DirFS(filepath.Join(testdata(), "src/github.com"))))
	for _, name := range []string{"refused", "traps"} {
		archive, err := txtar.ParseFile("testdata/" + name + ".txtar")
		require.NoError(t, err)
		var b strings.Builder
		for _, section := range archive.Files {
			b.WriteString(expand(section) + "\n")
		}
		text, err := format.Source([]byte(b.String()))
		require.NoError(t, err, b.String())
		require.NoError(t, os.Mkdir(filepath.Join(dir, "src", name), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "src", name, name+".go"), text, 0o600))
	}
	return dir
}

// expand returns the Go code of a section.
func expand(section txtar.File) string {
	var body strings.Builder
	args, client, keys := "", "s.rdb", "key"
	for line := range strings.Lines(string(section.Data)) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "ARGS":
			args = ", " + rest
		case "CLIENT":
			client = rest
		case "KEYS":
			keys = rest
		case "READ":
			body.WriteString(cmp.Or(rest, "n, err := tx.Get(ctx, key).Int()") + "\nif err != nil && err != redis.Nil {\nreturn err\n}\n")
		case "LOOK":
			body.WriteString("text, err := " + cmp.Or(rest, "tx.Get(ctx, key).Result()"))
			body.WriteString("\nif err != nil {\nreturn err\n}\nseen = len(text)\nreturn nil\n")
		case "COMMIT", "WRITE":
			body.WriteString("_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {\n")
			body.WriteString("pipe." + cmp.Or(rest, "Set(ctx, key, n+1, 0)") + "\nreturn nil\n})\n")
			if word == "WRITE" {
				body.WriteString("return err\n")
			}
		default:
			body.WriteString(line)
		}
	}
	name, want, ok := strings.Cut(section.Name, ": ")
	if !ok {
		return body.String()
	}
	want = strings.Replace(want, "not fixed: ", "not fixed: .*", 1)
	return fmt.Sprintf("func (s *service) %s(ctx context.Context, key string%s) error {\n"+
		"return %s.Watch(ctx, func(tx *redis.Tx) error { // want `^%s`\n%s}, %s)\n}\n", name, args, client, want, body.String(), keys)
}
