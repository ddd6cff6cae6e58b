package live

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/rules"
	"github.com/unwatch/unwatch/proxycompat"
)

func TestJudge(t *testing.T) {
	for command, want := range map[string]string{
		"WATCH": "MC101", "MULTI": "MC103", "EXEC": "MC103", "DISCARD": "MC103", "UNWATCH": "MC103",
		"SUBSCRIBE": "MC201", "PSUBSCRIBE": "MC201", "SSUBSCRIBE": "MC201", "PUBLISH": "MC202", "SPUBLISH": "MC202",
		"BLPOP": "MC301", "BRPOPLPUSH": "MC301", "BLMOVE": "MC302", "BZPOPMIN": "MC302", "WAIT": "MC302",
		"KEYS": "MC401", "SCAN": "MC401", "RENAME": "MC401", "OBJECT": "MC401", "OBJECT ENCODING": "MC401",
		"BITOP": "MC401", "MSETNX": "MC401",
		"XREADGROUP": "MC404", "SINTERCARD": "MC404", "EVAL_RO": "MC404", "FCALL": "MC404",
		"SCRIPT": "MC505", "SCRIPT LOAD": "MC505", "TIME": "MC701", "FLUSHALL": "MC701", "DBSIZE": "MC701",
	} {
		j := judge(proxycompat.Codis32(), command, false)
		assert.Equal(t, want, j.rule, command)
		assert.True(t, counts(j.severity), command)
		assert.NotEmpty(t, j.why, command)
	}
	for command, want := range map[string]string{
		"SINTER": "MC402", "EVAL": "MC501", "EVALSHA": "MC501", "MGET": "MC403", "DEL": "MC403", "FT.SEARCH": "MC404",
		"CONFIG": "MC701", "CONFIG GET": "MC701", "CLIENT": "MC701", "CLIENT LIST": "MC701", "SLOWLOG GET": "MC701", "LATENCY": "MC701",
		"MONITOR": "MC701", "ACL LOG": "MC701", "MEMORY USAGE": "MC701", "PUBSUB CHANNELS": "MC701",
		"CLIENT SETNAME": "MC602", "CLIENT SETINFO": "MC602", "HELLO": "MC602", "CLUSTER SLOTS": "MC601", "READONLY": "MC601",
	} {
		j := judge(proxycompat.Codis32(), command, false)
		assert.Equal(t, want, j.rule, command)
		assert.Equal(t, rules.Note, j.severity, command)
	}
	for _, command := range []string{"GET", "SET", "HGETALL", "ZADD", "PING", "INFO", "AUTH", "SELECT", "XADD"} {
		assert.Zero(t, judge(proxycompat.Codis32(), command, true), command)
	}
}

// judge handles every verdict of every profile. With strict, every refused command is a finding.
func TestEveryCommandOfEveryProfile(t *testing.T) {
	for _, name := range proxycompat.Names() {
		profile, err := proxycompat.Lookup(name)
		require.NoError(t, err)
		if profile.Server() {
			continue
		}
		for _, rule := range profile.Rules() {
			j := judge(profile, rule.Command, true)
			switch rule.Verdict {
			case proxycompat.OK, proxycompat.Backend:
				assert.Zero(t, j, rule.Command)
			case proxycompat.Refused, proxycompat.Closes, proxycompat.Misrouted, proxycompat.HarmsOthers:
				assert.True(t, counts(j.severity), "%s %s", name, rule.Command)
				assert.True(t, strings.HasPrefix(j.rule, "MC"))
			default:
				assert.True(t, j.keys, rule.Command)
				assert.Equal(t, rules.Note, j.severity)
			}
		}
	}
}
