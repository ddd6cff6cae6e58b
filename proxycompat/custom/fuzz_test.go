package custom_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/custom"
)

func FuzzExtend(f *testing.F) {
	for _, seed := range []string{
		"", everyKey, "\ufeffname: a\r\nbase: codis\r\n", "{\n\t\"name\": \"a\",\n\t\"base\": \"redis\"\n}",
		"name: *a", "a: &a [*a]\nname: *a",
		"name: a\nbase: codis\ncommands: [{command: [], verdict: x}]",
		"---\n---\n", "? ? a", "! !00 \xf6", "name: !!binary YQ==", "|0\n-", "<<: {}",
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, data []byte, given bool) {
		var base *proxycompat.Profile
		if given {
			base = proxycompat.Codis32()
		}
		for _, file := range []string{"f.yaml", "f.json"} {
			p, err := custom.Extend(base, file, data)
			if err == nil {
				require.NotEmpty(t, p.Name())
			} else {
				assert.NotEmpty(t, err.Error())
			}
		}
	})
}

func FuzzMarshal(f *testing.F) {
	f.Add("why", "instead")
	f.Add("a\n b", " \t")
	f.Fuzz(func(t *testing.T, why, instead string) {
		rules := []proxycompat.RuleChange{{Commands: []string{"X"}, Verdict: "ok", Why: why, Source: why, Instead: instead}}
		data, err := custom.Marshal("mine", nil, rules)
		if err != nil {
			return
		}
		p, err := custom.Extend(proxycompat.Redis(), "f", data)
		require.NoError(t, err)
		assert.Equal(t, why, p.Rule("X").Why)
		assert.Equal(t, instead, p.Rule("X").Instead)
	})
}
