package proxycompat_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat"
)

func TestExtend(t *testing.T) {
	base := proxycompat.Codis32()
	p, err := base.Extend(proxycompat.Changes{
		Name: "ours", Backend: "6.2", Idle: time.Minute, Clients: 50, Refusal: "ERR no %l (%s) here",
		Rules: []proxycompat.RuleChange{
			{Commands: []string{"object", "RESTORE"}, Verdict: "ok", Why: "ours lets them pass", Source: "the operators"},
			{Commands: []string{"OBJECT FREQ"}, Verdict: "refused", Why: "not that", Source: "the operators"},
			{Commands: []string{"GRAB"}, Verdict: "onekey", Why: "ours alone", Source: "the operators", Keys: "num1", Args: "2+"},
			{Commands: []string{"*"}, Verdict: "refused", Why: "nothing else", Source: "the operators", Error: "ERR what is %l?"},
		},
	})
	require.NoError(t, err)
	assert.Equal(t, "ours", p.Name())
	assert.Contains(t, p.About(), "codis")
	assert.Equal(t, time.Minute, p.Idle())
	assert.Equal(t, 50, p.Clients())
	require.NoError(t, p.Check("OBJECT", "ENCODING", "k"))
	require.ErrorContains(t, p.Check("OBJECT", "FREQ", "k"), "not that")
	require.Error(t, base.Check("OBJECT", "ENCODING", "k"), "the base is as it was")
	require.NoError(t, p.Check("GRAB", "1", "k"))
	require.ErrorContains(t, p.Check("GRAB", "2", "k", "l"), "2 keys")
	require.ErrorContains(t, p.Check("GRAB", "1"), "does not accept 1 argument")
	require.Error(t, p.Check("NOSUCH", "k"))
	assert.Equal(t, "ERR what is nosuch?", p.RefusalText("NOSUCH"))
	assert.Equal(t, "ERR no watch (WATCH) here", p.RefusalText("watch"))
	require.Error(t, p.Check("HEXPIRE", "k"), "newer than the server behind")
	assert.Equal(t, base.Slot("k"), p.Slot("k"))

	closing, err := base.Extend(proxycompat.Changes{Name: "x", Refusal: "-", Hash: "config", HashTag: "{}"})
	require.NoError(t, err)
	assert.Empty(t, closing.RefusalText("WATCH"))
	assert.True(t, closing.SameSlot("{a}1", "{a}2"))
}

// An observation has precedence over a rule that follows from a version.
func TestRuleChangeOverridesBackend(t *testing.T) {
	base, err := proxycompat.Lookup("codis@3.2")
	require.NoError(t, err)
	p, err := base.Extend(proxycompat.Changes{Name: "x", Rules: []proxycompat.RuleChange{
		{Commands: []string{"UNLINK"}, Verdict: "ok", Why: "backported", Source: "us"},
		{Commands: []string{"FOO BAR"}, Verdict: "refused", Why: "not that", Source: "us"},
	}})
	require.NoError(t, err)
	require.NoError(t, p.Check("UNLINK", "k"))
	require.Error(t, p.Check("GETEX", "k"), "still 3.2")
	require.Error(t, p.Check("FOO", "BAR"))
	require.NoError(t, p.Check("FOO", "BAZ"))

	ours, err := proxycompat.Redis().Extend(proxycompat.Changes{Name: "x", Rules: []proxycompat.RuleChange{
		{Commands: []string{"CLIENT", "SELECT"}, Verdict: "refused", Why: "not here", Source: "us"},
	}})
	require.NoError(t, err)
	assert.False(t, ours.Server(), "with a rule of its own it is a proxy")
	assert.NotEmpty(t, proxycompat.Explain(&redis.Options{ClientName: "c"}, ours))
}

func TestExtendErrors(t *testing.T) {
	rule := func(change func(*proxycompat.RuleChange)) proxycompat.Changes {
		good := proxycompat.RuleChange{Commands: []string{"GET"}, Verdict: "ok", Why: "w", Source: "s"}
		bad := good
		change(&bad)
		return proxycompat.Changes{Name: "x", Rules: []proxycompat.RuleChange{good, bad}}
	}
	for want, c := range map[string]proxycompat.Changes{
		`bad name ""`:         {},
		`bad name "A"`:        {Name: "A"},
		`bad name "a@3.2"`:    {Name: "a@3.2"},
		`bad hash rule "md5"`: {Name: "x", Hash: "md5"},
		"cannot be config":    {Name: "x", HashTag: "{}"},
		`bad version "new"`:   {Name: "x", Backend: "new"},
		"rule 2: no command":  rule(func(r *proxycompat.RuleChange) { r.Commands = nil }),
		"rule 2: no reason":   rule(func(r *proxycompat.RuleChange) { r.Why = "" }),
		"rule 2: no source":   rule(func(r *proxycompat.RuleChange) { r.Source = "" }),
		"unknown verdict":     rule(func(r *proxycompat.RuleChange) { r.Verdict = "fine" }),
		"bad argument count":  rule(func(r *proxycompat.RuleChange) { r.Args = "x" }),
		"bad keys":            rule(func(r *proxycompat.RuleChange) { r.Keys = "x" }),
		"bad route":           rule(func(r *proxycompat.RuleChange) { r.Route = "x" }),
		"bad command":         rule(func(r *proxycompat.RuleChange) { r.Commands = []string{"A B C"} }),
	} {
		_, err := proxycompat.Codis32().Extend(c)
		require.ErrorContains(t, err, want)
	}
	_, err := proxycompat.Codis32().Extend(rule(func(r *proxycompat.RuleChange) { r.Why = "" }))
	var bad *proxycompat.RuleError
	require.ErrorAs(t, err, &bad)
	assert.Equal(t, 1, bad.Index)
}

// If a proxy forwards unknown commands by the first argument, the verdict of each follows from Redis' key
// positions.
func TestUnknownIsForwardedByItsFirstArgument(t *testing.T) {
	p, err := proxycompat.Redis().Extend(proxycompat.Changes{
		Name: "blind", Hash: "codis",
		Rules: []proxycompat.RuleChange{{Commands: []string{"*"}, Verdict: "unknown", Why: "forwarded", Source: "a test"}},
	})
	require.NoError(t, err)
	for command, want := range map[string]proxycompat.Verdict{
		"BLPOP": proxycompat.HarmsOthers, "BLMOVE": proxycompat.HarmsOthers, "XREAD": proxycompat.HarmsOthers,
		"SUBSCRIBE": proxycompat.HarmsOthers, "PSUBSCRIBE": proxycompat.HarmsOthers, "SSUBSCRIBE": proxycompat.HarmsOthers,
		"EVAL": proxycompat.Misrouted, "MSETEX": proxycompat.Misrouted, "BITOP": proxycompat.Misrouted,
		"DEL": proxycompat.OneKey, "MSET": proxycompat.OneKey,
		"GET": proxycompat.Unknown, "PING": proxycompat.Unknown, "NO-SUCH": proxycompat.Unknown,
	} {
		assert.Equal(t, want, p.Rule(command).Verdict, command)
	}
}
