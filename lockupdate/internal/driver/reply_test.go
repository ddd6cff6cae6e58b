package driver

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

// replied returns a command with a reply. text is a JSON document with integers, or an error after
// "-".
func replied(text string) *Command {
	c := newCommand("x", "k")
	c.Build(context.Background(), false)
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

// FuzzReply: every reply to every request is an error or a consistent result.
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
		cmds := func() []*Command { return []*Command{replied(first), replied(second), replied(third), replied(first)} }
		for _, kind := range []Kind{Lua, IFEQ, DELIFEQ, VX, CAS} {
			d := New(Options{Kind: kind})
			take := cmds()
			if kind != Lua {
				take[2].args[0], take[3].args[0] = "pttl", "type"
			}
			res, err := d.Acquired(AcquireRequest{Lock: "l"}, take)
			require.False(t, res.Granted && err != nil && kind == Lua, "granted, and failed: %v", err)
			require.False(t, res.Granted && res.PTTL != 0)

			owned, hint, err := d.Owned(cmds()[0])
			require.False(t, owned && err != nil)
			require.GreaterOrEqual(t, hint, time.Duration(0))
			_, hint = readHint(cmds()[0])
			require.GreaterOrEqual(t, hint, time.Duration(0))
			require.GreaterOrEqual(t, d.Hint("o:1", cmds()[0]), time.Duration(0))

			for _, kind := range []rmw.Kind{rmw.KindString, rmw.KindHash} {
				v, err := d.Value(kind, cmds()[0])
				checkValue(t, kind, v, err)
				scripted := cmds()[0]
				scripted.script = readScript
				v, err = d.Value(kind, scripted)
				checkValue(t, kind, v, err)
				if d.Peek(rmw.Key{Name: "k", Kind: kind}) != nil {
					v, left, err := d.Peeked(kind, cmds()[0])
					checkValue(t, kind, v, err)
					require.True(t, left == rmw.NoTTL || left >= 0)
					require.Equal(t, v.Exists(), left != 0, "a value has an expiry, and an absent one has none")
				}
				res, err := d.Committed(kind, cmds()[0])
				checkValue(t, kind, res.Now, err)
				require.False(t, err != nil && (res.Stored || res.Known))
			}
			if s, err := d.Inspected("l", cmds(), time.Now()); err == nil {
				require.GreaterOrEqual(t, s.Age, time.Duration(0))
				require.GreaterOrEqual(t, s.TTL, -time.Millisecond)
			}
		}
	})
}

// checkValue requires a value of the requested kind, or an error with a text.
func checkValue(t *testing.T, kind rmw.Kind, v rmw.Value, err error) {
	t.Helper()
	if err != nil {
		require.NotEmpty(t, err.Error())
		require.False(t, v.Exists())
		return
	}
	require.True(t, !v.Exists() || v.Kind() == kind)
}
