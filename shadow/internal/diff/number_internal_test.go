package diff

import (
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

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

var literals = rapid.StringMatching(`-?(0|[1-9][0-9]{0,5})(\.[0-9]{1,5})?([eE][+-]?[0-9]{1,2})?`)

func TestDecimalIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := literals.Draw(t, "a"), literals.Draw(t, "b")
		if rapid.Bool().Draw(t, "same value") {
			b = decimal(a)
		}
		x, ok := new(big.Rat).SetString(a)
		require.True(t, ok)
		y, ok := new(big.Rat).SetString(b)
		require.True(t, ok)
		require.Equal(t, x.Cmp(y) == 0, decimal(a) == decimal(b))
		require.Equal(t, decimal(a), decimal(decimal(a)))
	})
}
