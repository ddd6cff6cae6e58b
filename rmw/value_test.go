package rmw_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/rmw"
)

func TestZeroValueMeansNoSuchKey(t *testing.T) {
	var v rmw.Value
	assert.False(t, v.Exists())
	assert.Equal(t, "", v.Text())
	assert.Nil(t, v.Fields())
	assert.Zero(t, v.Len())
	assert.Zero(t, v.Size())
	_, ok := v.Field("f")
	assert.False(t, ok)
	for range v.All() {
		t.Error("an absent value has no fields")
	}
}

func TestEmptyStringIsAValueEmptyHashIsNot(t *testing.T) {
	assert.True(t, rmw.String("").Exists())
	assert.True(t, rmw.Bytes(nil).Exists())
	assert.False(t, rmw.String("").Equal(rmw.Value{}))

	for name, v := range map[string]rmw.Value{
		"nil map":       rmw.Hash(nil),
		"empty map":     rmw.Hash(map[string]string{}),
		"last field":    rmw.Hash(map[string]string{"f": "1"}).Without("f"),
		"edit clears":   rmw.Hash(map[string]string{"f": "1"}).Edit(func(fields map[string]string) { clear(fields) }),
		"nothing added": rmw.Value{}.Edit(func(map[string]string) {}),
		"with a TTL":    rmw.Hash(map[string]string{"f": "1"}).WithTTL(time.Hour).Without("f"),
	} {
		assert.False(t, v.Exists(), name)
		assert.True(t, v.Equal(rmw.Value{}), name)
		assert.Zero(t, v.TTL(), name)
	}
}

func TestValueNeverChanges(t *testing.T) {
	original := map[string]string{"a": "1", "b": "2"}
	given := maps.Clone(original)
	v := rmw.Hash(given)
	unchanged := func(what string) {
		t.Helper()
		assert.Equal(t, original, v.Fields(), what)
	}

	given["a"] = "changed"
	delete(given, "b")
	unchanged("the map given to Hash")

	v.Fields()["a"] = "changed"
	unchanged("the map returned by Fields")

	edited := v.Edit(func(fields map[string]string) { fields["a"] = "changed"; delete(fields, "b") })
	unchanged("inside Edit")
	assert.Equal(t, map[string]string{"a": "changed"}, edited.Fields())

	v.Edit(func(fields map[string]string) { clear(fields) })
	unchanged("clear inside Edit")

	assert.Equal(t, map[string]string{"a": "changed", "b": "2"}, v.With("a", "changed").Fields())
	unchanged("With")
	assert.Equal(t, map[string]string{"a": "changed", "b": "2", "c": "3"},
		v.WithFields(map[string]string{"a": "changed", "c": "3"}).Fields())
	unchanged("WithFields")
	assert.Equal(t, map[string]string{"c": "3"}, rmw.Value{}.WithFields(map[string]string{"c": "3"}).Fields())
	assert.False(t, rmw.Value{}.WithFields(nil).Exists())
	assert.Equal(t, map[string]string{"b": "2"}, v.Without("a", "no such field").Fields())
	unchanged("Without")
	v.WithTTL(time.Hour)
	assert.Zero(t, v.TTL())

	b := []byte("text")
	s := rmw.Bytes(b)
	b[0] = 'n'
	assert.Equal(t, "text", s.Text(), "the slice given to Bytes")
}

func TestAllVisitsEveryFieldAndMayStop(t *testing.T) {
	fields := map[string]string{"a": "1", "b": "2", "": "empty name"}
	v := rmw.Hash(fields)
	assert.Equal(t, fields, maps.Collect(v.All()))
	n := 0
	for range v.All() {
		n++
		break
	}
	assert.Equal(t, 1, n)
}

func TestWithOnAStringMakesAHash(t *testing.T) {
	v := rmw.String("text").With("f", "1")
	assert.Equal(t, rmw.KindHash, v.Kind())
	assert.Equal(t, map[string]string{"f": "1"}, v.Fields())
	assert.Equal(t, "", v.Text())
}

func TestWithTTLAsksForAnExpiry(t *testing.T) {
	v := rmw.Hash(map[string]string{"f": "1"}).WithTTL(time.Minute)
	assert.Equal(t, time.Minute, v.TTL())
	assert.Equal(t, time.Minute, v.With("g", "2").TTL(), "an edit keeps it")
	assert.Equal(t, rmw.NoTTL, v.WithTTL(rmw.NoTTL).TTL(), "the last one counts")
	assert.Zero(t, v.WithTTL(0).TTL())
	assert.Zero(t, rmw.Value{}.WithTTL(time.Minute).TTL(), "what does not exist does not expire")
	assert.Equal(t, time.Minute, rmw.String("").WithTTL(time.Minute).TTL())
}

func TestEqualComparesContentOnly(t *testing.T) {
	hash := rmw.Hash(map[string]string{"a": "1", "b": "2"})
	for name, tc := range map[string]struct {
		v, w  rmw.Value
		equal bool
	}{
		"both absent":            {rmw.Value{}, rmw.Hash(nil), true},
		"empty strings":          {rmw.String(""), rmw.Bytes(nil), true},
		"strings":                {rmw.String("x"), rmw.Bytes([]byte("x")), true},
		"hashes":                 {hash, rmw.Hash(map[string]string{"b": "2", "a": "1"}), true},
		"TTL is no part":         {hash, hash.WithTTL(time.Hour), true},
		"absent and empty":       {rmw.Value{}, rmw.String(""), false},
		"other case":             {rmw.String("x"), rmw.String("X"), false},
		"string and hash":        {rmw.String(""), hash, false},
		"a value differs":        {hash, hash.With("a", "2"), false},
		"a field more":           {hash, hash.With("c", ""), false},
		"a field less":           {hash, hash.Without("b"), false},
		"a field by other name":  {hash, hash.Without("b").With("c", "2"), false},
		"empty field or no such": {rmw.Hash(map[string]string{"a": ""}), rmw.Hash(map[string]string{"b": ""}), false},
	} {
		assert.Equal(t, tc.equal, tc.v.Equal(tc.w), name)
		assert.Equal(t, tc.equal, tc.w.Equal(tc.v), name)
	}
}

func TestSizeCountsBytes(t *testing.T) {
	large := map[string]string{}
	for i := range 1000 {
		large[fmt.Sprintf("%04d", i)] = "value"
	}
	for _, tc := range []struct {
		v         rmw.Value
		len, size int
	}{
		{rmw.Value{}, 0, 0},
		{rmw.String("日本"), 0, 6},
		{rmw.Hash(map[string]string{"ab": "cde", "": "fghi"}), 2, 2 + 3 + 0 + 4},
		{rmw.Hash(map[string]string{"a": "", "b": ""}), 2, 2},
		{rmw.Hash(large), 1000, 9000},
	} {
		assert.Equal(t, tc.len, tc.v.Len(), tc.v)
		assert.Equal(t, tc.size, tc.v.Size(), tc.v)
		assert.Equal(t, tc.size, tc.v.ApproxSize(), tc.v)
		assert.Zero(t, testing.AllocsPerRun(100, func() { tc.v.ApproxSize() }), tc.v)
	}
}
