package proxycompat_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/rmw"
)

func TestEveryProfileParses(t *testing.T) {
	for _, name := range proxycompat.Names() {
		p, err := proxycompat.Lookup(strings.ToUpper(name))
		require.NoError(t, err)
		assert.Equal(t, name, p.Name())
		assert.NotEmpty(t, p.About())
		rules := p.Rules()
		assert.True(t, slices.IsSortedFunc(rules, func(a, b proxycompat.Rule) int { return strings.Compare(a.Command, b.Command) }))
		for _, r := range rules {
			assert.NotEmpty(t, r.Why, r.Command)
			assert.NotEmpty(t, r.Source, r.Command)
		}
	}
	_, err := proxycompat.Lookup("haproxy")
	require.ErrorContains(t, err, `proxycompat: no profile named "haproxy", known are `)
	require.ErrorContains(t, err, "codis, ")
	_, err = proxycompat.Lookup("codis@new")
	require.EqualError(t, err, `proxycompat: bad version "new": want one such as 6.2`)
}

func TestVerdicts(t *testing.T) {
	codis, twem := proxycompat.Codis32(), proxycompat.Twemproxy05()
	for command, want := range map[string][2]proxycompat.Verdict{
		"watch":       {proxycompat.Refused, proxycompat.Closes},
		"MULTI":       {proxycompat.Refused, proxycompat.Closes},
		"subscribe":   {proxycompat.Refused, proxycompat.Closes},
		"SCRIPT LOAD": {proxycompat.Refused, proxycompat.Closes},
		"CLIENT":      {proxycompat.Refused, proxycompat.Closes},
		"HELLO":       {proxycompat.HarmsOthers, proxycompat.Closes},
		"SSUBSCRIBE":  {proxycompat.HarmsOthers, proxycompat.Closes},
		"RESET":       {proxycompat.HarmsOthers, proxycompat.Closes},
		"BLMOVE":      {proxycompat.HarmsOthers, proxycompat.Closes},
		"EVAL_RO":     {proxycompat.Misrouted, proxycompat.Closes},
		"XREAD":       {proxycompat.Misrouted, proxycompat.Closes},
		"FCALL":       {proxycompat.Misrouted, proxycompat.Closes},
		"EVALSHA":     {proxycompat.OneKey, proxycompat.OneKey},
		"SINTER":      {proxycompat.OneKey, proxycompat.OneKey},
		"UNLINK":      {proxycompat.OneKey, proxycompat.Split},
		"TOUCH":       {proxycompat.OneKey, proxycompat.Split},
		"MSET":        {proxycompat.Split, proxycompat.Split},
		"SORT":        {proxycompat.OneKey, proxycompat.OneKey},
		"GETDEL":      {proxycompat.Backend, proxycompat.Backend},
		"XADD":        {proxycompat.Backend, proxycompat.Closes},
		"SET":         {proxycompat.OK, proxycompat.OK},
		"DUMP":        {proxycompat.OK, proxycompat.OK},
		"RESTORE":     {proxycompat.Refused, proxycompat.OK},
		"CAS":         {proxycompat.Unknown, proxycompat.Closes},
	} {
		assert.Equal(t, want[0], codis.Rule(command).Verdict, "codis %s", command)
		assert.Equal(t, want[1], twem.Rule(command).Verdict, "twemproxy %s", command)
		assert.Equal(t, proxycompat.OK, proxycompat.Redis().Rule(command).Verdict)
	}
	assert.Equal(t, "CAS", codis.Rule("cas").Command)
	assert.Equal(t, "ERR handle request, command 'WATCH' is not allowed", codis.RefusalText("watch"))
	assert.Empty(t, twem.RefusalText("watch"))
}

func TestCheck(t *testing.T) {
	codis, twem := proxycompat.Codis32(), proxycompat.Twemproxy05()
	for command, want := range map[string]string{ // "" passes both; c and t: that one refuses
		"":                              "",
		"GET k":                         "",
		"get":                           "t",
		"GET a b":                       "t",
		"SET k v NX PX 100":             "",
		"EVAL s 1 k a b":                "",
		"evalsha s 1 k":                 "",
		"EVAL s 0":                      "ct",
		"EVAL s 0 a":                    "ct",
		"EVAL s 2 k l":                  "ct",
		"EVAL s 2 k":                    "ct",
		"EVAL s x k":                    "t",
		"MGET a b":                      "",
		"MSET a 1 b 2":                  "",
		"MSET a 1 b":                    "t",
		"DEL a b c":                     "",
		"UNLINK a":                      "",
		"UNLINK a b":                    "c",
		"SINTER a":                      "",
		"SINTER a b":                    "ct",
		"SMOVE a b m":                   "ct",
		"ZUNIONSTORE d 1 a":             "ct",
		"SORT a":                        "",
		"XREAD COUNT 1 STREAMS a b 0 0": "ct",
		"MSETEX 2 a 1 b 2":              "ct",
		"XDELEX k IDS 1 1":              "t",
		"JSON.GET k":                    "t",
		"JSON.MGET k l $":               "ct",
		"FT.SEARCH idx q":               "t",
		"SORT a BY nosort":              "",
		"SORT a BY w_*":                 "ct",
		"SORT a store b":                "ct",
		"GEORADIUS g 1 1 1 km STORE d":  "ct",
		"GEORADIUS g 1 1 1 km":          "",
		"WATCH k":                       "ct",
		"SCRIPT LOAD x":                 "ct",
		"SCRIPT EXISTS x":               "ct",
		"EVAL_RO s 1 k":                 "ct",
		"XREAD STREAMS s 0":             "ct",
		"HELLO 3":                       "ct",
		"AUTH pw":                       "",
		"AUTH user pw":                  "ct",
		"SELECT 1":                      "t",
		"PING":                          "",
		"PING x":                        "ct",
		"CAS k a b":                     "t",
		"MSETNX a 1":                    "ct",
		"QUIT":                          "",
		strings.Repeat("X", 100) + " k": "t",
	} {
		args := strings.Fields(command)
		for p, mark := range map[*proxycompat.Profile]string{codis: "c", twem: "t"} {
			err := p.Check(args...)
			if !strings.Contains(want, mark) {
				assert.NoError(t, err, "%s: %s", p.Name(), command)
				continue
			}
			var refused *proxycompat.RefusedError
			require.ErrorAs(t, err, &refused, "%s: %s", p.Name(), command)
			require.ErrorIs(t, err, rmw.ErrUnsupported)
			assert.False(t, rmw.Retryable(err))
			assert.Equal(t, strings.ToUpper(args[0]), refused.Command)
			assert.Equal(t, p.Name(), refused.Profile)
			assert.NotEmpty(t, refused.Source)
			assert.NotEmpty(t, refused.Reason)
		}
		require.NoError(t, proxycompat.Redis().Check(args...))
	}
}

func TestRefusedErrorShowsNoData(t *testing.T) {
	err := proxycompat.Codis32().Check("EVAL", "secret-script", "2", "secret-key", "other", "secret-value")
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "secret")
	assert.Contains(t, err.Error(), "EVAL not sent: codis: 2 keys")
	err = proxycompat.Twemproxy05().Check("bad\r\n" + strings.Repeat("x", 1000))
	assert.NotContains(t, err.Error(), "\n")
	assert.Less(t, len(err.Error()), 400)
}

func TestAllowTagged(t *testing.T) {
	strict := proxycompat.Codis32()
	tagged := strict.AllowTagged()
	require.NoError(t, tagged.Check("EVAL", "s", "2", "{a}1", "{a}2"))
	require.NoError(t, tagged.Check("SINTER", "{a}1", "{a}2"))
	require.Error(t, tagged.Check("EVAL", "s", "2", "{a}1", "{b}2"))
	require.Error(t, strict.Check("EVAL", "s", "2", "{a}1", "{a}2"), "the original is unchanged")
	require.Error(t, proxycompat.Twemproxy05().AllowTagged().Check("SINTER", "{a}1", "{a}2"))
}
