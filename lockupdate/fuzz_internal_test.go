package lockupdate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
)

// replied is a call with this answer: a JSON document, whose numbers are integers; or an
// error, if it begins with "-".
func replied(text string) *call {
	c := word("x", "k")
	c.cmd = &command{redis.NewCmd(context.Background(), "x")}
	if rest, ok := strings.CutPrefix(text, "-"); ok {
		if rest == "" {
			c.cmd.SetErr(redis.Nil)
		} else {
			c.cmd.SetErr(errors.New(rest))
		}
		return c
	}
	in := json.NewDecoder(bytes.NewReader([]byte(text)))
	in.UseNumber()
	var doc any
	if in.Decode(&doc) != nil {
		doc = text
	}
	c.cmd.SetVal(asReply(doc))
	return c
}

func asReply(doc any) any {
	switch v := doc.(type) {
	case json.Number:
		n, _ := v.Int64()
		return n
	case []any:
		for i := range v {
			v[i] = asReply(v[i])
		}
		return v
	case map[string]any:
		m := map[any]any{}
		for name, value := range v {
			m[name] = asReply(value)
		}
		return m
	}
	return doc
}

// FuzzReply: whatever a server answers to whatever was asked, it is understood, or it is an
// error; and what is understood makes sense.
func FuzzReply(f *testing.F) {
	for _, seed := range []string{
		`1`, `0`, `[0,5]`, `[0,-1]`, `[0,9223372036854775807]`, `[2,"list"]`, `[3,"ERR no"]`,
		`[4,"ERR no"]`, `[0,"f","v"]`, `[3,"f"]`, `[]`, `null`,
		`["none"]`, `["string",-1,"v"]`, `["hash",5,"unwatch:a:99","1","unwatch-waiting","7"]`, `["hash",-2]`,
		`{"f":"v"}`, `"OK"`,
		`"u:1 5"`, `"u:1 9223372036854775807"`, `-`, `-ERR no`, `-WRONGTYPE x`, `-NOSCRIPT x`,
		`[["x"]]`, `-9223372036854775808`, `"-9"`, `[0,{}]`,
	} {
		f.Add(seed, `"u:1"`, `5`)
	}
	f.Fuzz(func(t *testing.T, first, second, third string) {
		calls := func() []*call { return []*call{replied(first), replied(second), replied(third), replied(first)} }
		for _, commit := range []Commit{CommitGuarded, CommitIFEQ, CommitVX, CommitCAS} {
			d := dialectOf(Config{Commit: commit})
			_, lua := d.(scripts)
			take := calls()
			if !lua {
				take[2].args[0], take[3].args[0] = "pttl", "type"
			}
			granted, pttl, err := d.granted(question{lock: "l"}, take)
			require.False(t, granted && err != nil && lua, "granted, and failed: %v", err)
			require.False(t, granted && pttl != 0)

			held, note, err := d.answer(calls()[0])
			require.False(t, held && err != nil)
			require.GreaterOrEqual(t, note, time.Duration(0))
			_, after := noteOf(calls()[0])
			require.GreaterOrEqual(t, after, time.Duration(0))

			for _, kind := range []rmw.Kind{rmw.KindString, rmw.KindHash} {
				v, err := d.value(kind, calls()[0])
				sound(t, kind, v, err)
				scripted := calls()[0]
				scripted.script = readScript
				v, err = d.value(kind, scripted)
				sound(t, kind, v, err)
				if lua {
					v, left, err := d.peeked(kind, calls()[0])
					sound(t, kind, v, err)
					require.True(t, left == rmw.NoTTL || left >= 0)
					require.Equal(t, v.Exists(), left != 0, "a value has a time left, and nothing has none")
				}
				answer, err := d.verdict(kind, calls()[0])
				sound(t, kind, answer.now, err)
				require.False(t, err != nil && (answer.stored || answer.known))
			}
			if h, err := d.holder("l", calls(), time.Now()); err == nil {
				require.GreaterOrEqual(t, h.Age, time.Duration(0))
				require.GreaterOrEqual(t, h.TTL, -time.Millisecond)
			}
		}
	})
}

// sound requires a value of the kind that was asked for, or an error that says something.
func sound(t *testing.T, kind rmw.Kind, v rmw.Value, err error) {
	t.Helper()
	if err != nil {
		require.NotEmpty(t, err.Error())
		require.False(t, v.Exists())
		return
	}
	require.True(t, !v.Exists() || v.Kind() == kind)
}

// FuzzOwner: a name that others have put into a lock tells an age only if it can be one.
func FuzzOwner(f *testing.F) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, seed := range []string{newOwners().next(), "", ":", "unwatch:", "unwatch:a:1y2p0ij32e8e7", "unwatch:a:-1y2p0ij32e8e8",
		"unwatch:a:_", "0190163d-8694-739b-aea5-966c26f8ad91:1", strings.Repeat("7", 36) + ":1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, owner string) {
		at := since(owner, now)
		if !strings.HasPrefix(owner, ownerMark) {
			require.Equal(t, now, at, "a foreign name tells nothing")
		}
		require.Equal(t, owner, processOf(owner+":1"))
		name := defaultLockName(owner)
		require.NotEqual(t, owner, name)
		if name != "" {
			require.Empty(t, defaultLockName(name), "a lock has no lock")
			require.Empty(t, defaultLockName(fencePrefix+name))
			require.Empty(t, defaultLockName(notePrefix+name))
		}
	})
}
