package diff

import (
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/unwatch/unwatch/rmw"
)

// Digest exports digest: two values have the same digest if and only if they are equal.
func (c *Comparer) Digest(v rmw.Value) [16]byte {
	root := tree(v)
	return digest(&root, c.root)
}

func TestDecimal(t *testing.T) {
	seen := map[string]bool{}
	for _, same := range [][]string{
		{"0", "-0", "0.0", "-0.00e7", "0E99999999999999999999999"},
		{"1", "1.0", "10e-1", "0.1e1", "1E0", "1e-0", "1e+00", "100000000000000000000e-20"},
		{"-1.5", "-15e-1", "-0.0150E2"},
		{"9007199254740993", "9007199254740993.0", "9.007199254740993e15"},
		{"9007199254740992"},
		{"1e2147483647", "1e+2147483647", "10e02147483646"},
		{"1e2147483648", "10e2147483647"}, {"10e2147483648"}, // the latter as it is written
		{"1e-2147483649", "0.1e-2147483648"},
		{"1e2000000000000000000000"}, {"1e2000000000000000000001"}, {"-1e2000000000000000000000"},
	} {
		for _, literal := range same {
			assert.Equal(t, decimal(same[0]), decimal(literal), literal)
			assert.False(t, seen[decimal(literal)], literal)
		}
		seen[decimal(same[0])] = true
	}
	assert.Equal(t, "-15e-1", decimal("-1.50"))
	assert.Less(t, len(decimal("1e999999999")), 20, "nothing is expanded")
}

func TestDecimalIsExact(t *testing.T) {
	literals := rapid.StringMatching(`-?(0|[1-9][0-9]{0,5})(\.[0-9]{1,5})?([eE][+-]?[0-9]{1,2})?`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := literals.Draw(t, "a"), literals.Draw(t, "b")
		if rapid.Bool().Draw(t, "same value") {
			b = decimal(a)
		}
		x, _ := new(big.Rat).SetString(a)
		y, _ := new(big.Rat).SetString(b)
		require.Equal(t, x.Cmp(y) == 0, decimal(a) == decimal(b))
		require.Equal(t, decimal(a), decimal(decimal(a)))
	})
}

func TestLooksLikeData(t *testing.T) {
	for _, field := range []string{
		"a", "_", "_id", "updatedAt", "last_seen_at", "content-type", "line1", "address2", "oauth2Token", "sha256", "utf8",
		"base64Url", "s3Key", "p99", "x509Cert", "feedback", "decade_faded", strings.Repeat("x", 32),
	} {
		assert.False(t, looksLikeData(field), field)
	}
	for _, data := range []string{
		"", " ", "7", "+4420794600", "ann@example.com", "room:7", "a.b", "user_10234", "u-1-2-3-4", "Zoë", "名前", "deadbeef", "xDEADBEEFx",
		"550e8400-e29b-41d4-a716-446655440000", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "x7Kq2P", "a b", "*", "…", "[]", "-x", "\xff",
		strings.Repeat("x", 33), `"`, "a\n",
	} {
		assert.True(t, looksLikeData(data), data)
	}
}

// A template contains only a few safe characters, for any names.
func TestTemplateCharacters(t *testing.T) {
	hops := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) hop {
		if rapid.Bool().Draw(t, "element") {
			return hop{element: true, index: 12345}
		}
		return hop{name: rapid.String().Draw(t, "name"), data: rapid.Bool().Draw(t, "data")}
	}), 0, 20)
	rapid.Check(t, func(t *rapid.T) {
		path := template(hops.Draw(t, "hops"))
		assert.Regexp(t, `^([A-Za-z_][A-Za-z0-9_-]*|\*|\[\]|\.|…)*$`, path)
		assert.NotContains(t, path, "1234")
	})
}
