package driver_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/driver"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/lexical"
)

const watching = `
import "github.com/go-redis/redis"

func main() {
	c := redis.NewClient(&redis.Options{})
	c.Watch(func(tx *redis.Tx) error { return nil }, "k")
}
`

// If the go command cannot list the packages, the driver searches the Go files by words, and
// the report has the error and advice.
func TestNoPackages(t *testing.T) {
	t.Setenv("GOPROXY", "off")
	t.Setenv("GOFLAGS", os.Getenv("GOFLAGS")+" -mod=readonly")
	for name, test := range map[string]struct{ files, reason string }{
		"no go.mod": {"", "no go.mod is here or above: go mod init and go mod tidy write one"},
		"no go.mod, but one below": {
			"-- tools/go.mod --\nmodule tools\n\ngo 1.26.0\n-- tools/tools.go --\npackage tools\n", "is in no package that could be loaded",
		},
		"a bad go.mod": {"-- go.mod --\nmodule m\n\nrequire nonsense\n", "errors parsing go.mod: go.mod:3: usage: require module/path"},
		"a bad go.work": {
			"-- go.mod --\nmodule m\n-- go.work --\ngo 1.26.0\nuse ./none\n", "cannot load module none listed in go.work file",
		},
		"no go.sum": {
			"-- go.mod --\nmodule m\n\ngo 1.26.0\n\nrequire github.com/go-redis/redis v6.99.0+incompatible\n",
			"could not import github.com/go-redis/redis: missing go.sum entry for module providing package github.com/go-redis/redis " +
				"(imported by m): run go mod tidy",
		},
		"no network": {
			"-- go.mod --\nmodule m\n\ngo 1.26.0\n\nrequire github.com/go-redis/redis v6.99.0+incompatible\n-- go.sum --\n" +
				"github.com/go-redis/redis v6.99.0+incompatible h1:K0pv1D7EQUjfyoMql+r/jZqCLizCGKFlFgcHWWmHQjg=\n" +
				"github.com/go-redis/redis v6.99.0+incompatible/go.mod h1:NAIEuMOZ/fxfXJIrKDQDz8wamY7mA7PouImQ2Jvg6kA=\n",
			"module lookup disabled by GOPROXY=off: run go mod download where the modules can be fetched",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			own := "-- a.go --\npackage main\n" + watching + "-- sub/b_test.go --\npackage sub\n" + watching
			write(t, dir, txtar.Parse([]byte(test.files+own)))
			r := look(t, dir, func(c *driver.Config) { c.Languages = lexical.Languages{lexical.Go}; c.LowCounts = true })
			found := lines(r)
			require.NotEmpty(t, found)
			assert.Equal(t, "a.go:7 MC101 main", found[0])
			assert.Contains(t, strings.Join(found, "\n"), "sub/b_test.go:7 MC101 main [test] uncounted")
			var reasons strings.Builder
			for _, u := range r.Summary.Unseen {
				reasons.WriteString(u.Path + ": " + u.Reason + "\n")
			}
			assert.Contains(t, reasons.String(), test.reason)
			assert.NotContains(t, reasons.String(), `invalid package name`)
			assert.NotContains(t, reasons.String(), "exit status")

			require.NoError(t, os.RemoveAll(filepath.Join(dir, "sub")))
			r = look(t, dir, func(c *driver.Config) { c.Languages, c.Patterns = lexical.Languages{lexical.Go}, []string{"."} })
			assert.Equal(t, []string{"a.go:7 MC101 main uncounted"}, lines(r))
		})
	}
}
