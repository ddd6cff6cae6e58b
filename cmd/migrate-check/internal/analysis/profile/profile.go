package profile

import (
	_ "embed"
	"fmt"
	"reflect"
	"sync"

	"golang.org/x/tools/go/analysis"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rediscalls"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/profilefile"
)

//go:embed doc.go
var doc string

// Default is the default profile.
const Default = "codis"

// Flag is the name of the analyzer's flag.
const Flag = "profile"

// Analyzer's result is the *proxycompat.Profile.
var Analyzer = build()

func build() *analysis.Analyzer {
	var name string
	var loaded sync.Map // func() (*proxycompat.Profile, error), by name: all packages share it
	a := &analysis.Analyzer{
		Name:       "redisprofile",
		Doc:        rediscalls.About(doc, "redisprofile"),
		URL:        "https://pkg.go.dev/github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/profile",
		ResultType: reflect.TypeFor[*proxycompat.Profile](),
		Run: func(*analysis.Pass) (any, error) {
			load := sync.OnceValues(func() (*proxycompat.Profile, error) { return Load(name) })
			first, _ := loaded.LoadOrStore(name, load)
			return first.(func() (*proxycompat.Profile, error))()
		},
	}
	a.Flags.StringVar(&name, Flag, Default, "judge by the proxy of this `NAME`, or of the file at this path")
	return a
}

// Of returns the profile for a pass. Its analyzer must require [Analyzer].
func Of(pass *analysis.Pass) *proxycompat.Profile {
	return pass.ResultOf[Analyzer].(*proxycompat.Profile)
}

// Load returns the profile of a name, or of a file.
func Load(name string) (*proxycompat.Profile, error) {
	p, err := profilefile.Open(name)
	if err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	return p, nil
}
