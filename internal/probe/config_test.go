package probe_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/internal/probe"
)

func TestConfigHidesThePassword(t *testing.T) {
	cfg := probe.Config{Username: "desk", Password: "SECRET", Prefix: "p:"}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		for _, shown := range []any{cfg, &cfg, struct{ C probe.Config }{cfg}} {
			assert.NotContains(t, fmt.Sprintf(verb, shown), "SECRET", "%s of %T", verb, shown)
		}
		assert.Contains(t, fmt.Sprintf(verb, cfg), "desk")
	}
	assert.NotContains(t, fmt.Sprint(probe.Config{}), "not shown", "there is none")
}
