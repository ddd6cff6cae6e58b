package paths_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/internal/testing/paths"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// hostileNames are unusual names that a service may use by accident.
func hostileNames() map[string]string {
	return map[string]string{
		"space":         " ",
		"spaces":        "a b  c ",
		"newlines":      "a\r\nDEL b\r\n*1\r\n$8\r\nFLUSHALL\r\n",
		"NUL":           "a\x00b",
		"only NUL":      "\x00",
		"braces":        "{}",
		"half a brace":  "{",
		"wrong way":     "}{",
		"nested tag":    "{{a}}{b}",
		"empty tag":     "a{}b{c}",
		"invalid UTF-8": "\xff\xfe\xed\xa0\x80",
		"64 KiB":        strings.Repeat("0123456789abcdef", 4<<10),
		"64 KiB of NUL": strings.Repeat("\x00", 64<<10),
		"format":        "%s%n%!d(MISSING)",
		"pattern":       "*?[a-z]\\",
		"Lua":           "]]..redis.call('FLUSHALL')--",
		"the note":      "unwatch-waiting",
		"a number":      "-1",
	}
}

func set(v rmw.Value) rmw.UpdateFunc {
	return func(context.Context, rmw.Value) (rmw.Value, error) { return v, nil }
}

// A name of a key, a field or a value is a byte string. Every path stores it exactly, and changes nothing
// else.
func TestHostileNames(t *testing.T) {
	long.Repeats(t)
	paths.Each(t, func(t *testing.T, target rmwtest.Target) {
		s := target.Open()
		ctx := t.Context()
		require.NoError(t, target.Direct.Set(ctx, "b", rmw.String("bystander"), rmw.NoTTL))
		for what, name := range hostileNames() {
			text, hash := rmw.Key{Name: name}, rmw.Key{Name: name + "#", Kind: rmw.KindHash}
			fields := rmw.Hash(map[string]string{name: name, "": name, name + name: ""})
			for _, step := range []struct {
				key  rmw.Key
				next rmw.Value
			}{
				{text, rmw.String(name)}, {text, rmw.String("")}, {text, rmw.String(name + name)},
				{hash, fields}, {hash, fields.With(name, "2").Without("")}, {hash, fields.Without(name)},
				{text, rmw.Value{}}, {hash, rmw.Value{}},
			} {
				before, _, err := target.Direct.Get(ctx, step.key.Name)
				require.NoError(t, err, what)
				res, err := s.Update(ctx, step.key, set(step.next))
				require.NoError(t, err, what)
				assert.True(t, res.Before.Equal(before) && res.After.Equal(step.next) && res.Written, "%s: %v", what, res)
				stored, _, err := target.Direct.Get(ctx, step.key.Name)
				require.NoError(t, err, what)
				assert.True(t, stored.Equal(step.next), "%s: stored %v, want %v", what, stored, step.next)
				read, err := s.Read(ctx, step.key)
				require.NoError(t, err, what)
				assert.True(t, read.Equal(step.next), what)
			}
			_, err := s.Update(ctx, text, set(rmw.Hash(map[string]string{"a": "b"})))
			require.ErrorIs(t, err, rmw.ErrWrongKind, what)
			assert.Less(t, len(err.Error()), 1000, "%s: an error is a line to read", what)
			assert.NotContains(t, err.Error(), "\n", what)
			assert.NotContains(t, err.Error(), "\x00", what)
		}
		v, _, err := target.Direct.Get(ctx, "b")
		require.NoError(t, err)
		assert.Equal(t, "bystander", v.Text())
	})
}

// Every path refuses an unusable key before it sends anything, with the same error, which describes a
// usable one.
func TestUnusableKeys(t *testing.T) {
	long.Repeats(t)
	said := map[string]map[string]bool{}
	paths.Each(t, func(t *testing.T, target rmwtest.Target) {
		s := target.Open()
		called := func(context.Context, rmw.Value) (rmw.Value, error) {
			t.Error("fn was called")
			return rmw.Value{}, nil
		}
		for says, key := range map[string]rmw.Key{
			"name the key":               {},
			"use KindString or KindHash": {Name: "k", Kind: 7},
			"at least 1ms":               {Name: "k", TTL: time.Millisecond - 1},
			"use at least 1ms":           {Name: "k", TTL: 1},
			"NoTTL to remove it":         {Name: "k", TTL: -time.Hour},
			"or a positive duration":     {Name: "k", TTL: math.MinInt64},
		} {
			_, err := s.Update(t.Context(), key, called)
			require.ErrorIs(t, err, rmw.ErrInvalid)
			require.ErrorContains(t, err, says)
			var failed *rmw.Error
			require.True(t, errors.As(err, &failed))
			if said[says] == nil {
				said[says] = map[string]bool{}
			}
			said[says][failed.Reason.Error()] = true
			_, err = s.Read(t.Context(), key)
			require.ErrorIs(t, err, rmw.ErrInvalid)
			require.ErrorContains(t, err, says)
		}
		key := rmw.Key{Name: "k"}
		for _, ttl := range []time.Duration{1, -2, math.MinInt64} {
			_, err := s.Update(t.Context(), key, set(rmw.String("v").WithTTL(ttl)))
			require.ErrorIs(t, err, rmw.ErrInvalid)
			require.ErrorContains(t, err, "the TTL of the returned Value")
		}
		v, _, err := target.Direct.Get(t.Context(), "k")
		require.NoError(t, err)
		assert.False(t, v.Exists(), "nothing was written")
	})
	for says, texts := range said {
		assert.Len(t, texts, 1, "each path says the same of %q: %v", says, texts)
	}
}

// The longest time.Duration is 292 years. It is a valid expiry, and so is a fraction of a millisecond more
// than one.
func TestHostileExpiries(t *testing.T) {
	long.Repeats(t)
	paths.Each(t, func(t *testing.T, target rmwtest.Target) {
		s := target.Open()
		for _, ttl := range []time.Duration{
			math.MaxInt64, math.MaxInt64 - 1, math.MaxInt64 / 2, time.Millisecond, 1999 * time.Microsecond,
		} {
			for _, kind := range []rmw.Kind{rmw.KindString, rmw.KindHash} {
				key := rmw.Key{Name: "k" + kind.String(), Kind: kind, TTL: ttl}
				first, then := rmw.String("1"), rmw.String("2")
				if kind == rmw.KindHash {
					first, then = rmw.Hash(map[string]string{"n": "1"}), rmw.Hash(map[string]string{"n": "2"})
				}
				kept := key
				kept.TTL = 0
				began := time.Now() // no time passes, except on the path that moves keys
				for _, key := range []rmw.Key{key, kept} {
					_, err := s.Update(t.Context(), key, set(first))
					require.NoError(t, err, ttl)
					_, err = s.Update(t.Context(), key, set(then))
					require.NoError(t, err, ttl)
					v, left, err := target.Direct.Get(t.Context(), key.Name)
					require.NoError(t, err, ttl)
					if ttl < time.Second && !v.Exists() || time.Since(began) >= ttl {
						continue // it has expired already
					}
					assert.True(t, v.Equal(then), "%v: %v", ttl, v)
					assert.Greater(t, left, time.Duration(0), ttl)
					assert.LessOrEqual(t, left, ttl)
					assert.Greater(t, left, ttl-time.Minute)
					if p, ok := rmw.As[rmw.Peeker](s); ok {
						_, peeked, err := p.Peek(t.Context(), key)
						require.NoError(t, err, ttl)
						assert.Greater(t, peeked, ttl-time.Minute)
					}
				}
				require.NoError(t, target.Direct.Set(t.Context(), key.Name, rmw.Value{}, 0))
			}
		}
	})
}

// A value of 64 MiB works, and so does one that differs by a byte.
func TestLongHostileSizes(t *testing.T) {
	long.Only(t)
	large := strings.Repeat("0123456789abcdef", 4<<20)
	paths.Each(t, func(t *testing.T, target rmwtest.Target) {
		s := target.Open()
		for _, key := range []rmw.Key{{Name: "text"}, {Name: "hash", Kind: rmw.KindHash}} {
			value := func(text string) rmw.Value {
				if key.Kind == rmw.KindHash {
					return rmw.Hash(map[string]string{"f": text})
				}
				return rmw.String(text)
			}
			for _, text := range []string{"", large, large[1:] + "x", ""} {
				res, err := s.Update(t.Context(), key, set(value(text)))
				require.NoError(t, err)
				assert.True(t, res.Written)
				v, _, err := target.Direct.Get(t.Context(), key.Name)
				require.NoError(t, err)
				assert.True(t, v.Equal(value(text)), "%v of %d bytes: %v", key.Kind, len(text), v)
			}
			require.NoError(t, target.Direct.Set(t.Context(), key.Name, rmw.Value{}, 0))
		}
	})
}
