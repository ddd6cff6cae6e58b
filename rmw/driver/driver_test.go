package driver_test

import (
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/driver"
)

func TestCheckWrite(t *testing.T) {
	var (
		absent rmw.Value
		text   = rmw.String("x")
		hash   = rmw.Hash(map[string]string{"f": "1"})
		asText = rmw.Key{Name: "k"}
		asHash = rmw.Key{Name: "k", Kind: rmw.KindHash}
		minute = rmw.Key{Name: "k", TTL: time.Minute}
		noTTL  = rmw.Key{Name: "k", TTL: rmw.NoTTL}
	)
	for name, tc := range map[string]struct {
		key       rmw.Key
		cur, next rmw.Value
		write     bool
		ttl       time.Duration
		err       error
	}{
		"create":                       {key: asText, next: text, write: true},
		"change":                       {key: asText, cur: text, next: rmw.String("y"), write: true},
		"delete":                       {key: asText, cur: text, write: true},
		"empty over absent":            {key: asText, next: rmw.String(""), write: true},
		"delete an empty string":       {key: asText, cur: rmw.String(""), write: true},
		"hash field changed":           {key: asHash, cur: hash, next: hash.With("f", "2"), write: true},
		"hash emptied is deleted":      {key: asHash, cur: hash, next: hash.Without("f"), write: true},
		"key TTL sets":                 {key: minute, next: text, write: true, ttl: time.Minute},
		"key TTL removes":              {key: noTTL, next: text, write: true, ttl: rmw.NoTTL},
		"returned as it was":           {key: asText, cur: text, next: text},
		"returned an equal one":        {key: asHash, cur: hash, next: rmw.Hash(map[string]string{"f": "1"})},
		"absent stays absent":          {key: asText},
		"absent, of either kind":       {key: asHash, next: rmw.Hash(nil)},
		"unchanged leaves the expiry":  {key: minute, cur: text, next: text, ttl: time.Minute}, // not to be used: no write
		"a value's TTL is a write":     {key: asText, cur: text, next: text.WithTTL(time.Second), write: true, ttl: time.Second},
		"a value's TTL overrides":      {key: minute, cur: hash, next: text.WithTTL(time.Second), write: true, ttl: time.Second},
		"a value's NoTTL overrides":    {key: minute, next: text.WithTTL(rmw.NoTTL), write: true, ttl: rmw.NoTTL},
		"TTL of what does not exist":   {key: asText, next: absent.WithTTL(time.Second)},
		"a hash under a string key":    {key: asText, next: hash, err: rmw.ErrWrongKind},
		"a string under a hash key":    {key: asHash, cur: hash, next: text, err: rmw.ErrWrongKind},
		"wrong kind though unchanged":  {key: asHash, cur: text, next: text, err: rmw.ErrWrongKind},
		"a TTL below a millisecond":    {key: asText, next: text.WithTTL(time.Microsecond), err: rmw.ErrInvalid},
		"a negative TTL":               {key: asText, next: text.WithTTL(-time.Second), err: rmw.ErrInvalid},
		"negative though it is cur":    {key: asText, cur: text, next: text.WithTTL(-2), err: rmw.ErrInvalid},
		"deleting needs no right kind": {key: asHash, cur: text, write: true},
	} {
		write, ttl, err := driver.CheckWrite(tc.key, tc.cur, tc.next)
		if tc.err != nil {
			require.ErrorIs(t, err, tc.err, name)
			assert.False(t, write, name)
			continue
		}
		require.NoError(t, err, name)
		assert.Equal(t, tc.write, write, name)
		assert.Equal(t, tc.ttl, ttl, name)
	}
}

func TestTrace(t *testing.T) {
	hash := rmw.Hash(map[string]string{"a": "1", "b": "2", "c": "3"})
	type fn = func(v rmw.Value) rmw.Value
	for name, c := range map[string]struct {
		fn    fn
		reads []string // nil: the whole
	}{
		"nothing":         {func(v rmw.Value) rmw.Value { return v }, []string{}},
		"a field":         {func(v rmw.Value) rmw.Value { v.Field("a"); return v }, []string{"a"}},
		"a missing field": {func(v rmw.Value) rmw.Value { v.Field("x"); return v }, []string{"x"}},
		"set":             {func(v rmw.Value) rmw.Value { return v.With("b", "9").With("a", "1") }, []string{"a", "b"}},
		"several set": {func(v rmw.Value) rmw.Value {
			return v.WithFields(map[string]string{"x": "9", "a": "1"})
		}, []string{"a", "x"}},
		"none set":           {func(v rmw.Value) rmw.Value { return v.WithFields(nil) }, []string{}},
		"removed":            {func(v rmw.Value) rmw.Value { return v.Without("b", "x") }, []string{"b", "x"}},
		"read of what it is": {func(v rmw.Value) rmw.Value { v = v.With("b", "9"); v.Field("c"); return v }, []string{"b", "c"}},
		"expiry":             {func(v rmw.Value) rmw.Value { return v.WithTTL(time.Hour).With("a", "") }, []string{"a"}},
		"kind, existence":    {func(v rmw.Value) rmw.Value { v.Kind(); v.Exists(); v.Text(); return v }, []string{}},
		"number of fields":   {func(v rmw.Value) rmw.Value { v.Len(); return v }, nil},
		"size":               {func(v rmw.Value) rmw.Value { v.Size(); return v }, nil},
		"printed":            {func(v rmw.Value) rmw.Value { _ = fmt.Sprint(v); return v }, nil},
		"all":                {func(v rmw.Value) rmw.Value { v.All(); return v }, nil},
		"copied":             {func(v rmw.Value) rmw.Value { v.Fields(); return v }, nil},
		"edited":             {func(v rmw.Value) rmw.Value { return v.Edit(func(map[string]string) {}) }, nil},
		"compared":           {func(v rmw.Value) rmw.Value { hash.Equal(v); return v }, nil},
		"emptied":            {func(v rmw.Value) rmw.Value { v.Without("a", "b", "c"); return v }, nil},
		"deleted":            {func(rmw.Value) rmw.Value { return rmw.Value{} }, nil},
		"made anew":          {func(rmw.Value) rmw.Value { return hash }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			v := driver.Traced(hash.WithTTL(time.Minute))
			assert.Equal(t, time.Minute, v.TTL())
			fields, ok := driver.Reads(v, c.fn(v), nil)
			assert.Equal(t, c.reads != nil, ok)
			if ok {
				assert.Equal(t, c.reads, append([]string{}, fields...))
			}
		})
	}
}

func TestTraceOfOthers(t *testing.T) {
	for _, v := range []rmw.Value{{}, rmw.String("x")} {
		traced := driver.Traced(v)
		assert.True(t, traced.Equal(v))
		_, ok := driver.Reads(traced, traced, nil)
		assert.False(t, ok, "%v", v)
	}
	hash := rmw.Hash(map[string]string{"a": "1"})
	first, second := driver.Traced(hash), driver.Traced(hash)
	_, ok := driver.Reads(second, first.With("a", "2"), nil)
	assert.False(t, ok, "made of what an earlier call was given")
	_, ok = driver.Reads(second, driver.Untraced(first), nil)
	assert.False(t, ok)
	fields, ok := driver.Reads(second, rmw.Value{}, io.EOF)
	assert.True(t, ok)
	assert.Empty(t, fields)
	plain := hash.WithTTL(time.Minute)
	assert.Equal(t, time.Minute, driver.Untraced(plain).TTL())
}

// A struct goes by its own fields, whatever else the hash holds.
func TestTraceOfCodec(t *testing.T) {
	type model struct {
		A int    `redis:"a"`
		B string `redis:"b,omitempty"`
	}
	codec := rmw.HashOf[model]()
	v := driver.Traced(rmw.Hash(map[string]string{"a": "1", "theirs": "x"}))
	var m model
	require.NoError(t, codec.Decode(v, &m))
	m.A++
	next, err := codec.Encode(&m, v)
	require.NoError(t, err)
	fields, ok := driver.Reads(v, next, nil)
	assert.True(t, ok)
	assert.Equal(t, []string{"a", "b"}, fields)
	got, _ := next.Field("theirs")
	assert.Equal(t, "x", got)
}

// Given another hash in which the fields of Reads are the same, fn makes the same changes.
func TestTraceIsEnough(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e"}
	partly, moved := 0, 0
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		one := someHash(rng, names)
		fn := func(v rmw.Value) rmw.Value { return someEdit(rand.New(rand.NewPCG(seed, 2)), names, v) }
		v := driver.Traced(rmw.Hash(one))
		next := fn(v)
		reads, ok := driver.Reads(v, next, nil)
		if !ok {
			continue
		}
		partly++
		other := someHash(rng, names)
		for _, name := range reads {
			delete(other, name)
			if s, ok := one[name]; ok {
				other[name] = s
			}
		}
		if len(other) == 0 || maps.Equal(one, other) || more(one, reads) && !more(other, reads) {
			continue
		}
		moved++
		// What fn did to the one, done to the other, is what it does to the other.
		want := maps.Clone(other)
		for _, name := range reads {
			delete(want, name)
			if s, ok := next.Field(name); ok {
				want[name] = s
			}
		}
		require.True(t, rmw.Hash(want).Equal(fn(rmw.Hash(other))), "seed %d: %v, reads %v, then %v", seed, one, reads, other)
		for _, name := range names {
			if !slices.Contains(reads, name) {
				s, ok := next.Field(name)
				was, had := one[name]
				require.True(t, ok == had && s == was, "seed %d: %s was changed, and is not among %v", seed, name, reads)
			}
		}
	}
	assert.Greater(t, partly, 1000)
	assert.Greater(t, moved, 500)
}

// more reports whether there are fields besides those that fn has read.
func more(fields map[string]string, reads []string) bool {
	for name := range fields {
		if !slices.Contains(reads, name) {
			return true
		}
	}
	return false
}

func someHash(rng *rand.Rand, names []string) map[string]string {
	fields := map[string]string{}
	for _, name := range names {
		if rng.IntN(3) > 0 {
			fields[name] = fmt.Sprint(rng.IntN(3))
		}
	}
	if len(fields) == 0 {
		fields["a"] = ""
	}
	return fields
}

// someEdit does what an UpdateFunc may: what it does depends on what it reads.
func someEdit(rng *rand.Rand, names []string, v rmw.Value) rmw.Value {
	name := func() string { return names[rng.IntN(len(names))] }
	for range rng.IntN(5) {
		switch op, a, b := rng.IntN(13), name(), name(); {
		case op < 4:
			s, ok := v.Field(a)
			if ok {
				v = v.With(b, s+"'")
			}
		case op < 7:
			v = v.With(a, fmt.Sprint(rng.IntN(3)))
		case op < 9:
			v = v.Without(a, b)
		case op < 11:
			if _, ok := v.Field(a); !ok && v.Exists() {
				return v
			}
		case op == 11:
			if w := v.Without(a, b); !w.Exists() {
				v = v.With(a, "last")
			}
		default:
			v = v.With(a, fmt.Sprint(v.Len()))
		}
	}
	return v
}
