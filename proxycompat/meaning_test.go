package proxycompat_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/internal/resp"
	"github.com/unwatch/unwatch/proxycompat"
)

// The texts in the profiles are those that the paths, the probe and the live check read.
func TestRefusalsAreInTheTableOfReplies(t *testing.T) {
	others := map[string]string{
		"ERR":                       "no words",
		"ERR EXEC without MULTI":    "a server says the same, after the commands were executed one by one",
		"ERR DISCARD without MULTI": "as for EXEC",
	}
	for _, name := range proxycompat.Names() {
		p, err := proxycompat.Lookup(name)
		assert.NoError(t, err)
		for _, c := range proxycompat.Commands() {
			rule := p.Rule(c.Name)
			text := p.RefusalText(c.Name)
			if rule.Verdict != proxycompat.Refused || text == "" || others[text] != "" {
				continue
			}
			m := resp.MeaningOf(text)
			assert.True(t, m.Unsupported() || m == resp.Declined, "%s: %s: %q", name, c.Name, text)
		}
	}
}
