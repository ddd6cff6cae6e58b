package cas

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/rmw"
)

func TestCommandsWriteNoMoreThanTheChange(t *testing.T) {
	text, hash := rmw.Key{Name: "k"}, rmw.Key{Name: "k", Kind: rmw.KindHash}
	cur := rmw.Hash(map[string]string{"a": "1", "b": "2"})
	type sent = [][]any
	px := func(ms int64) sent { return sent{{"set", "k", "x", "px", ms}} }
	for name, tc := range map[string]struct {
		change change
		old    bool
		want   sent
	}{
		"keep the expiry":     {change{key: text, next: rmw.String("x")}, false, sent{{"set", "k", "x", "keepttl"}}},
		"keep it, old server": {change{key: text, next: rmw.String("x")}, true, sent{{"eval", keepTTL, 1, "k", "x", 0}}},
		"keep it of a value, old server": {
			change{key: text, cur: rmw.String("w"), next: rmw.String("x")}, true, sent{{"eval", keepTTL, 1, "k", "x", 1}},
		},
		"fields expire": {
			change{key: hash, cur: cur, next: cur.Without("a").With("b", "x"), fieldsExpire: true}, false,
			sent{{"eval", hashScript, 1, "k", 2, "keep", 1, "b", "x", "a"}},
		},
		"fields expire, the expiry alone": {
			change{key: hash, cur: cur, next: cur, ttl: time.Second, fieldsExpire: true}, false,
			sent{{"eval", hashScript, 1, "k", 2, int64(1000), 0}},
		},
		"fields expire, delete": {
			change{key: hash, cur: cur, ttl: rmw.NoTTL, fieldsExpire: true}, false, sent{{"eval", hashScript, 1, "k", 2, "none", -1}},
		},
		"set the expiry":        {change{key: text, next: rmw.String("x"), ttl: 1500 * time.Microsecond}, false, px(1)},
		"set it, old server":    {change{key: text, next: rmw.String("x"), ttl: time.Hour}, true, px(3600000)},
		"remove the expiry":     {change{key: text, next: rmw.String("x"), ttl: rmw.NoTTL}, true, sent{{"set", "k", "x"}}},
		"delete":                {change{key: text, cur: rmw.String("x")}, false, sent{{"del", "k"}}},
		"delete a hash":         {change{key: hash, cur: cur, ttl: time.Hour}, false, sent{{"del", "k"}}},
		"one field of two":      {change{key: hash, cur: cur, next: cur.With("a", "x")}, false, sent{{"hmset", "k", "a", "x"}}},
		"an empty field is new": {change{key: hash, cur: cur, next: cur.With("c", "")}, false, sent{{"hmset", "k", "c", ""}}},
		"a field less":          {change{key: hash, cur: cur, next: cur.Without("a")}, false, sent{{"hdel", "k", "a"}}},
		"both": {
			change{key: hash, cur: cur, next: cur.Without("a").With("b", "x")}, false,
			sent{{"hmset", "k", "b", "x"}, {"hdel", "k", "a"}},
		},
		"fields, then the expiry": {
			change{key: hash, cur: cur, next: cur.Without("a"), ttl: time.Second}, false,
			sent{{"hdel", "k", "a"}, {"pexpire", "k", int64(1000)}},
		},
		"the expiry alone":           {change{key: hash, cur: cur, next: cur, ttl: time.Second}, false, sent{{"pexpire", "k", int64(1000)}}},
		"no expiry":                  {change{key: hash, cur: cur, next: cur, ttl: rmw.NoTTL}, false, sent{{"persist", "k"}}},
		"nothing, but EXEC is asked": {change{key: hash, cur: cur, next: cur}, false, sent{{"hlen", "k"}}},
	} {
		var got sent
		for _, cmd := range commands(t.Context(), tc.change, tc.old) {
			got = append(got, cmd.Args())
			assert.True(t, cmd.NoRetry(), "go-redis must not send it twice")
		}
		assert.Equal(t, tc.want, got, name)
	}
}
