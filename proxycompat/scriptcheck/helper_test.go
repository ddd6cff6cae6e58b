package scriptcheck_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/scriptcheck"
)

// alibaba is a proxy that reads scripts.
const alibaba = "alibaba"

func profile(t testing.TB, name string) *proxycompat.Profile {
	t.Helper()
	p, err := proxycompat.Lookup(name)
	require.NoError(t, err)
	return p
}

// brief returns "line rule command" of each finding.
func brief(found []scriptcheck.Finding) []string {
	out := []string{}
	for _, f := range found {
		out = append(out, fmt.Sprintf("%d %s %s", f.Line, f.Rule, f.Command))
	}
	return out
}

// example is a script and its findings; none means that it is fine.
type example struct {
	name    string
	profile string
	script  string
	want    []string
}

func run(t *testing.T, examples []example) {
	t.Helper()
	for _, e := range examples {
		t.Run(e.name, func(t *testing.T) {
			found, err := scriptcheck.CheckScript(profile(t, e.profile), e.script)
			require.NoError(t, err)
			want := e.want
			if want == nil {
				want = []string{}
			}
			assert.Equal(t, want, brief(found), "%v", found)
			for _, f := range found {
				assert.NotEmpty(t, f.Why)
				assert.NotContains(t, f.String(), "%!")
			}
		})
	}
}
