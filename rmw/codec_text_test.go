package rmw_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"net/netip"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
)

type (
	named   string
	level   int8
	onlyTo  struct{}
	onlyTo2 struct{}
)

func (onlyTo) MarshalText() ([]byte, error) { return nil, nil }

func (*onlyTo2) UnmarshalText([]byte) error { return nil }

// assertText requires v to be stored as text, and text to read as v.
func assertText[T any](t *testing.T, text string, v T) {
	t.Helper()
	codec := rmw.Text[T]()
	stored, err := codec.Encode(&v, rmw.Value{})
	require.NoError(t, err)
	assert.Equal(t, text, stored.Text())
	var back T
	require.NoError(t, codec.Decode(stored, &back))
	assert.Equal(t, v, back)
}

func TestTextIsWhatRedisExpects(t *testing.T) {
	assert.Equal(t, rmw.KindString, rmw.Text[int]().Kind())
	assertText(t, "", "")
	assertText(t, "\x00\xff\r\n", "\x00\xff\r\n")
	assertText(t, "x", named("x"))
	assertText(t, "\x00\xff", []byte("\x00\xff"))
	assertText(t, "true", true)
	assertText(t, "-128", int8(-128))
	assertText(t, "-3", level(-3))
	assertText(t, "9007199254740993", int64(9007199254740993))
	assertText(t, "18446744073709551615", uint64(math.MaxUint64))
	assertText(t, "0.1", 0.1)
	assertText(t, "0.1", float32(0.1))
	assertText(t, "1e+300", 1e300)
	assertText(t, "90", 90*time.Nanosecond)
	assertText(t, "192.0.2.1", netip.MustParseAddr("192.0.2.1"))
	large, ok := new(big.Int).SetString("123456789012345678901234567890", 10)
	require.True(t, ok)
	assertText(t, "123456789012345678901234567890", *large)
	assertText(t, "2026-01-02T03:04:05.000000006Z", time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC))
}

func decodeText[T any](stored string) error {
	var v T
	return rmw.Text[T]().Decode(rmw.String(stored), &v)
}

func TestTextDecodeErrorsAreClearAndHideContent(t *testing.T) {
	for says, err := range map[string]error{
		"the stored text (13 bytes) is not a int: invalid syntax":        decodeText[int](private),
		"the stored text (3 bytes) is not a int8: value out of range":    decodeText[int8]("128"),
		"the stored text (2 bytes) is not a uint: invalid syntax":        decodeText[uint]("-1"),
		"the stored text (13 bytes) is not a float64: invalid syntax":    decodeText[float64](private),
		"the stored text (13 bytes) is not a bool: invalid syntax":       decodeText[bool](private),
		"the stored text (0 bytes) is not a int: invalid syntax":         decodeText[int](""),
		"the stored text (2 bytes) is not a rmw_test.level: invalid":     decodeText[level](" 1"),
		"the stored text (13 bytes) is not a time.Time":                  decodeText[time.Time](private),
		"the stored text (14 bytes) is not a netip.Addr":                 decodeText[netip.Addr](private + "."),
		"the stored text (15 bytes) is not a big.Int":                    decodeText[big.Int](private + ".."),
		"text cannot stand for a rmw_test.room; give it MarshalText and": decodeText[room](private),
		"text cannot stand for a *int":                                   decodeText[*int](private),
		"text cannot stand for a complex128":                             decodeText[complex128](private),
		"text cannot stand for a rmw_test.onlyTo;":                       decodeText[onlyTo](private),
	} {
		require.Error(t, err, says)
		assert.ErrorContains(t, err, says)
		for e := err; e != nil; e = errors.Unwrap(e) {
			assertHidden(t, fmt.Sprintf("%v %+v", e, e), says)
		}
	}
	require.ErrorIs(t, decodeText[int8]("128"), strconv.ErrRange)
	require.ErrorAs(t, decodeText[time.Time](private), new(*time.ParseError))
}

func TestTextEncodeRefusesWhatTextCannotStandFor(t *testing.T) {
	_, err := rmw.Text[room]().Encode(&room{}, rmw.Value{})
	require.ErrorContains(t, err, "text cannot stand for a rmw_test.room")
	_, err = rmw.Text[onlyTo2]().Encode(&onlyTo2{}, rmw.Value{})
	require.ErrorContains(t, err, "text cannot stand for a rmw_test.onlyTo2")
	_, err = rmw.Text[time.Time]().Encode(new(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)), rmw.Value{})
	require.Error(t, err, "what MarshalText refuses")
}

// FuzzTextDecode: text is a value that survives a further round trip, or a clear error.
func FuzzTextDecode(f *testing.F) {
	for _, text := range []string{
		"", "0", "-0", "+1", "0x10", "1e400", "NaN", "inf", "true", "9223372036854775808", "2006-01-02T15:04:05Z", "\xff", "1_000",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		fuzzCodec(t, rmw.Text[string](), rmw.String(text))
		fuzzCodec(t, rmw.Text[[]byte](), rmw.String(text))
		fuzzCodec(t, rmw.Text[int64](), rmw.String(text))
		fuzzCodec(t, rmw.Text[uint8](), rmw.String(text))
		fuzzCodec(t, rmw.Text[float32](), rmw.String(text))
		fuzzCodec(t, rmw.Text[bool](), rmw.String(text))
		fuzzCodec(t, rmw.Text[time.Time](), rmw.String(text))
	})
}
