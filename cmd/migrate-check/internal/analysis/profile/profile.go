package profile

import (
	_ "embed"
	"fmt"
	"reflect"
	"sync"

	"golang.org/x/tools/go/analysis"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rediscalls"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/custom"
)

//go:embed doc.go
var doc string

// Default is the default profile.
const Default = "codis"

// Flag is the name of the analyzer's flag.
const Flag = "profile"

// Analyzer's result is the *proxycompat.Profile.
var Analyzer = New()

// New returns an analyzer with a setting of its own, for tests. All other code shares [Analyzer].
func New() *analysis.Analyzer {
	var s setting
	a := &analysis.Analyzer{
		Name:       "redisprofile",
		Doc:        rediscalls.About(doc, "redisprofile"),
		URL:        "https://pkg.go.dev/github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/profile",
		ResultType: reflect.TypeFor[*proxycompat.Profile](),
		Run:        func(*analysis.Pass) (any, error) { return s.read() },
	}
	a.Flags.StringVar(&s.name, Flag, Default, "judge by the proxy of this `NAME`, or of the file at this path")
	return a
}

// Of returns the profile for a pass. Its analyzer must require [Analyzer].
func Of(pass *analysis.Pass) *proxycompat.Profile {
	return pass.ResultOf[Analyzer].(*proxycompat.Profile)
}

// Load returns the profile of a name, or of a file.
func Load(name string) (*proxycompat.Profile, error) {
	p, err := custom.Open(name)
	if err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	return p, nil
}

// setting reads a profile once for all packages.
type setting struct {
	name string

	mu   sync.Mutex
	last loaded
}

// loaded is the last profile with its name.
type loaded struct {
	name    string
	profile *proxycompat.Profile
	err     error
}

func (s *setting) read() (*proxycompat.Profile, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last.name != s.name || s.last.profile == nil {
		p, err := Load(s.name)
		s.last = loaded{s.name, p, err}
	}
	return s.last.profile, s.last.err
}
