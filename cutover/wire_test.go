package cutover_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/scriptcheck"
	"github.com/unwatch/unwatch/rmw"
)

// The proxy of the new store permits each command, also those of Sweep and Verify. Each has one key.
func TestOnlyPermittedCommands(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		for _, stage := range []cutover.Stage{follow, forward, reverse, forward} {
			p := r.open(stage)
			for _, key := range []rmw.Key{{Name: "s"}, {Name: "h", Kind: rmw.KindHash}} {
				value := rmw.String(stage.Phase.String())
				if key.Kind == rmw.KindHash {
					value = rmw.Hash(map[string]string{"phase": stage.Phase.String()})
				}
				_, err := p.Update(t.Context(), key, set(value))
				require.NoError(t, err)
				_, _, err = p.Peek(t.Context(), key)
				require.NoError(t, err)
			}
			_, err := p.Sweep(t.Context(), r.sweep(2))
			require.NoError(t, err)
			require.NoError(t, p.Close())
		}
		scripts := r.proxies[1].Calls()
		_, err := r.open(follow).Verify(t.Context(), r.sweep(2))
		require.NoError(t, err)
		r.stopAt(reverse, "fill") // Verify asks for the age of a seal
		report, err := r.open(follow).Verify(t.Context(), r.sweep(2))
		require.NoError(t, err)
		require.Positive(t, report.Transit.Count)
		for i, c := range r.proxies[1].Calls() {
			require.NoError(t, proxycompat.Codis32().Check(c.Args...), c.Args[0])
			if i < len(scripts) {
				require.Contains(t, []string{"EVAL", "EVALSHA"}, c.Command())
				require.Equal(t, "1", c.Args[2])
			}
		}
	})
}

// The script runs on Redis 3.2 to 8, and behind proxies that check scripts.
func TestScriptIsPermitted(t *testing.T) {
	for _, name := range proxycompat.Names() {
		profile, err := proxycompat.Lookup(name)
		require.NoError(t, err)
		if profile.Check("EVAL", "", "1", "k") != nil {
			continue
		}
		found, err := scriptcheck.CheckScript(profile, markerScript)
		require.NoError(t, err)
		// The script asks for an absent key of its slot: a Redis Cluster refuses that while it moves the slot.
		for _, f := range found {
			assert.Equal(t, scriptcheck.UndeclaredKey, f.Rule, "%s: %v", name, f)
			assert.Contains(t, strings.Split(markerScript, "\n")[f.Line-1], "'EXISTS'")
		}
	}
	code := regexp.MustCompile(`(?m)--.*$`).ReplaceAllString(markerScript, "")
	calls := regexp.MustCompile(`redis\.p?call\('([A-Z]+)'(?:, (\S+?))?[,)]`).FindAllStringSubmatch(code, -1)
	assert.Len(t, calls, strings.Count(code, "redis.call")+strings.Count(code, "redis.pcall"))
	var used []string
	for _, call := range calls {
		used = append(used, call[1])
		if call[1] != "TIME" && call[1] != "EXISTS" {
			assert.Equal(t, "KEYS[1]", call[2], "the key must be literally KEYS[1]")
		}
	}
	slices.Sort(used)
	assert.Equal(t, cutover.RequiredCommands(), slices.Compact(used))
}
