package rmw_test

import (
	"encoding/json"
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

func TestTextIsReadableByRedis(t *testing.T) {
	assert.Equal(t, rmw.KindString, rmw.Text[int]().Kind())
	assertText(t, "", "")
	assertText(t, "\x00\xff\r\n", "\x00\xff\r\n")
	assertText(t, "x", namedString("x"))
	assertText(t, "\x00\xff", []byte("\x00\xff"))
	assertText(t, "true", true)
	assertText(t, "-128", int8(-128))
	assertText(t, "-3", namedInt(-3))
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

type (
	onlyTo   struct{}
	onlyFrom struct{}
)

func (onlyTo) MarshalText() ([]byte, error) { return nil, nil }

func (*onlyFrom) UnmarshalText([]byte) error { return nil }

func TestTextEncodeRefusesOtherTypes(t *testing.T) {
	_, err := rmw.Text[room]().Encode(&room{}, rmw.Value{})
	require.ErrorContains(t, err, "text cannot stand for a rmw_test.room")
	_, err = rmw.Text[onlyFrom]().Encode(&onlyFrom{}, rmw.Value{})
	require.ErrorContains(t, err, "text cannot stand for a rmw_test.onlyFrom")
	_, err = rmw.Text[time.Time]().Encode(new(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)), rmw.Value{})
	require.Error(t, err, "what MarshalText refuses")
}

// through decodes s and encodes the result.
func through[T any](t *testing.T, codec rmw.Codec[T], stored rmw.Value) rmw.Value {
	t.Helper()
	var v T
	require.NoError(t, codec.Decode(stored, &v))
	next, err := codec.Encode(&v, stored)
	require.NoError(t, err)
	return next
}

// assertJSON requires a document that is read as a T to be written as want.
func assertJSON[T any](t *testing.T, stored, want string) {
	t.Helper()
	assert.Equal(t, want, through(t, rmw.JSON[T](), rmw.String(stored)).Text())
}

func TestJSONKeepsTheDocument(t *testing.T) {
	assert.Equal(t, rmw.KindString, rmw.JSON[string]().Kind())
	type numbers struct {
		I int64
		U uint64
		A any
		N json.Number
		R json.RawMessage
		M map[string]any
		L []any
		F float64
	}
	const (
		above2To53 = `{"I":-9007199254740993,"U":18446744073709551615,"A":9007199254740993,"N":123456789012345678901234567890,` +
			`"R":{"deep":9007199254740995},"M":{"x":9007199254740997},"L":[9007199254740999,1.10,1e400],"F":0.1}`
		html = `{"title":"<b>Tom & Jerry</b> 日本","members":null}`
	)
	assertJSON[numbers](t, above2To53, above2To53)
	assertJSON[any](t, "9007199254740993", "9007199254740993")
	assertJSON[json.RawMessage](t, "9007199254740993", "9007199254740993")
	assertJSON[int64](t, "-9223372036854775808", "-9223372036854775808")
	assertJSON[room](t, html, html)
	assertJSON[json.RawMessage](t, html, html)
	assertJSON[string](t, `"a\n"`, `"a\n"`) // without the newline that json.Encoder adds
	assertJSON[int](t, " \t\r\n7\n ", "7")
	assertJSON[room](t, `{"title":"x","unknown":1}`, `{"title":"x","members":null}`)
}

// picky has an UnmarshalJSON that quotes what it was given, as time.Time's does.
type picky struct{}

var errPicky = errors.New("picky")

type pickyError struct{ doc string }

func (e pickyError) Error() string { return e.doc }

func (*picky) UnmarshalJSON(b []byte) error {
	return fmt.Errorf("%w: %w", errPicky, pickyError{string(b)})
}

func decodeText[T any](stored string) error {
	return rmw.Text[T]().Decode(rmw.String(stored), new(T))
}

func decodeJSON[T any](stored string) error {
	return rmw.JSON[T]().Decode(rmw.String(stored), new(T))
}

// decodeField reads a hash with one field that a session does not expect.
func decodeField(name string) error {
	return rmw.HashOf[session]().Decode(rmw.Hash(map[string]string{"state": "open", name: private}), new(session))
}

func TestDecodeErrorsAreClearAndHideContent(t *testing.T) {
	type quoted struct {
		N int `json:",string"`
	}
	for _, tc := range []struct {
		err  error
		says string
	}{
		{decodeText[int](private), "the stored text (13 bytes) is not a int: invalid syntax"},
		{decodeText[int8]("128"), "the stored text (3 bytes) is not a int8: value out of range"},
		{decodeText[uint]("-1"), "the stored text (2 bytes) is not a uint: invalid syntax"},
		{decodeText[float64](private), "the stored text (13 bytes) is not a float64: invalid syntax"},
		{decodeText[bool](private), "the stored text (13 bytes) is not a bool: invalid syntax"},
		{decodeText[int](""), "the stored text (0 bytes) is not a int: invalid syntax"},
		{decodeText[namedInt](" 1"), "the stored text (2 bytes) is not a rmw_test.namedInt: invalid"},
		{decodeText[time.Time](private), "the stored text (13 bytes) is not a time.Time"},
		{decodeText[netip.Addr](private + "."), "the stored text (14 bytes) is not a netip.Addr"},
		{decodeText[big.Int](private + ".."), "the stored text (15 bytes) is not a big.Int"},
		{decodeText[room](private), "text cannot stand for a rmw_test.room; give it MarshalText and"},
		{decodeText[*int](private), "text cannot stand for a *int"},
		{decodeText[complex128](private), "text cannot stand for a complex128"},
		{decodeText[onlyTo](private), "text cannot stand for a rmw_test.onlyTo;"},

		{decodeJSON[room](""), "json: the stored value is empty"},
		{decodeJSON[any](" \n"), "json: the stored value is empty"},
		{decodeJSON[room](`{}{"title":"` + private + `"}`), "goes on after the document"},
		{decodeJSON[int]("7 " + private), "goes on after the document"},
		{decodeJSON[int]("7]"), "goes on after the document"},
		{decodeJSON[any](private), "json: malformed at byte 1"},
		{decodeJSON[any](`{"a":` + private + `}`), "json: malformed at byte 6"},
		{decodeJSON[room](`{"title":"` + private), "json: the stored value ends within the document"},
		{decodeJSON[int](`"` + private + `"`), "json: a string at byte 15 does not fit int"},
		{decodeJSON[room](`{"members":{"` + private + `":1}}`), "does not fit []string"},
		{decodeJSON[time.Time](`"` + private + `"`), "json: the stored value is not a time.Time"},
		{decodeJSON[[]byte](`"` + private + `!"`), "json: the stored value is not a []uint8"},
		{decodeJSON[json.Number](`"` + private + `"`), "json: the stored value is not a json.Number"},
		{decodeJSON[quoted](`{"N":"` + private + `"}`), "json: the stored value is not a rmw_test.quoted"},
		{decodeJSON[map[int]int](`{"` + private + `":1}`), "does not fit int"},
		{decodeJSON[picky](`"` + private + `"`), "json: the stored value is not a rmw_test.picky"},

		{decodeField("calls"), `field "calls": the stored text (13 bytes) is not a int64`},
		{decodeField("seen"), `field "seen": the stored text (13 bytes) is not a time.Time`},
		{decodeField("Active"), `field "Active": the stored text (13 bytes) is not a bool`},
	} {
		require.Error(t, tc.err, tc.says)
		assert.ErrorContains(t, tc.err, tc.says)
		for e := tc.err; e != nil; e = errors.Unwrap(e) { // what chain walkers show
			assertHidden(t, fmt.Sprintf("%v %+v", e, e), tc.says)
		}
	}
	err := decodeJSON[int8](`8005551234`)
	require.ErrorContains(t, err, "json: a number at byte 10 does not fit int8")
	assert.NotContains(t, err.Error(), "555", "a number is content, too")
}

// Hidden is only the text: programs still find what they look for.
func TestDecodeErrorsCanBeInspected(t *testing.T) {
	require.ErrorIs(t, decodeText[int8]("128"), strconv.ErrRange)
	require.ErrorAs(t, decodeText[time.Time](private), new(*time.ParseError))
	require.ErrorIs(t, decodeJSON[picky](`"x"`), errPicky)
	require.ErrorAs(t, decodeJSON[picky](`"x"`), new(pickyError))
	require.ErrorAs(t, decodeJSON[int](`"x"`), new(*json.UnmarshalTypeError))
	require.ErrorAs(t, decodeJSON[int](`x`), new(*json.SyntaxError))
}

// fuzzCodec requires a clear error or a value that survives a further round trip.
func fuzzCodec[T any](t *testing.T, codec rmw.Codec[T], stored rmw.Value) {
	t.Helper()
	var v T
	if err := codec.Decode(stored, &v); err != nil {
		assertOneShortLine(t, err.Error())
		return
	}
	once, err := codec.Encode(&v, stored)
	if err != nil {
		t.Fatalf("decoded, but not encoded again: %v", err)
	}
	if twice := through(t, codec, once); !twice.Equal(once) {
		t.Fatalf("%q became %q", once.Text()+fmt.Sprint(once.Fields()), twice.Text()+fmt.Sprint(twice.Fields()))
	}
}

// FuzzTextDecode: text is a value that survives a further round trip, or a clear error.
func FuzzTextDecode(f *testing.F) {
	for _, text := range []string{
		"", "0", "-0", "+1", "0x10", "1e400", "NaN", "inf", "true", "9223372036854775808", "2006-01-02T15:04:05Z", "\xff", "1_000",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		stored := rmw.String(text)
		fuzzCodec(t, rmw.Text[string](), stored)
		fuzzCodec(t, rmw.Text[[]byte](), stored)
		fuzzCodec(t, rmw.Text[int64](), stored)
		fuzzCodec(t, rmw.Text[uint8](), stored)
		fuzzCodec(t, rmw.Text[float32](), stored)
		fuzzCodec(t, rmw.Text[bool](), stored)
		fuzzCodec(t, rmw.Text[time.Time](), stored)
	})
}

// Decoded JSON survives a round trip; an error is one short line.
func FuzzJSONDecode(f *testing.F) {
	for _, doc := range []string{
		"", " ", "null", "{}", `{"title":"x","members":["a"]}`, `{"title":1}`, "[1,2", `{}{}`, "\xff", "9007199254740993",
		`"\ud800"`, "1e400",
	} {
		f.Add(doc)
	}
	f.Fuzz(func(t *testing.T, doc string) {
		fuzzCodec(t, rmw.JSON[room](), rmw.String(doc))
		fuzzCodec(t, rmw.JSON[any](), rmw.String(doc))
		fuzzCodec(t, rmw.JSON[time.Time](), rmw.String(doc))
	})
}
