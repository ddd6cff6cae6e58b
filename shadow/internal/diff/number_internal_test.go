package diff

import (
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestDecimal(t *testing.T) {
	for _, same := range [][]string{
		{"0", "-0", "0.0", "-0.00e7", "0E99999999999999999999999"},
		{"1", "1.0", "10e-1", "0.1e1", "1E0", "1e-0", "1e+00", "100000000000000000000e-20"},
		{"-1.5", "-15e-1", "-0.0150E2"},
		{"9007199254740993", "9007199254740993.0", "9.007199254740993e15"},
		{"9007199254740992"},
		{"1e999999999999999999", "10e999999999999999998", "0.1e1000000000000000000"},
		{"1e1000000000000000000", "10e999999999999999999", "0.01e1000000000000000002"},
		{"1e2000000000000000000000", "10e1999999999999999999999", "0.1e2000000000000000000001", "1e0002000000000000000000000"},
		{"1e-2000000000000000000000", "0.1e-1999999999999999999999", "10e-2000000000000000000001"},
		{"1e-999999999999999999", "0.01e-999999999999999997", "100e-1000000000000000001"},
		{"1e2000000000000000000001"},
	} {
		for _, literal := range same {
			assert.Equal(t, decimal(same[0]), decimal(literal), literal)
		}
	}
	assert.Equal(t, "-15e-1", decimal("-1.50"))
	assert.Equal(t, "1e999999999999999999999", decimal("10e999999999999999999998"))
	assert.Equal(t, "1e1000000000000000000000", decimal("10e999999999999999999999"))
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

func TestAddTo(t *testing.T) {
	integers := rapid.StringMatching(`[+-]?[0-9]{1,3}(0|9){14,40}[0-9]{0,3}`)
	rapid.Check(t, func(t *rapid.T) {
		integer := integers.Draw(t, "integer")
		n := rapid.Int64Range(-1_000_000, 1_000_000).Draw(t, "n")
		want, ok := new(big.Int).SetString(strings.TrimPrefix(integer, "+"), 10)
		require.True(t, ok)
		require.Equal(t, want.Add(want, big.NewInt(n)).String(), addTo(integer, n))
	})
}
