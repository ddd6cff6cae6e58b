package rmw_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
)

// through decodes s and encodes the result.
func through[T any](t *testing.T, codec rmw.Codec[T], stored rmw.Value) rmw.Value {
	t.Helper()
	var v T
	require.NoError(t, codec.Decode(stored, &v))
	next, err := codec.Encode(&v, stored)
	require.NoError(t, err)
	return next
}

func TestJSONKeepsNumbersAbove2To53(t *testing.T) {
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
	const doc = `{"I":-9007199254740993,"U":18446744073709551615,"A":9007199254740993,"N":123456789012345678901234567890,` +
		`"R":{"deep":9007199254740995},"M":{"x":9007199254740997},"L":[9007199254740999,1.10,1e400],"F":0.1}`
	assert.Equal(t, doc, through(t, rmw.JSON[numbers](), rmw.String(doc)).Text())
	assert.Equal(t, "9007199254740993", through(t, rmw.JSON[any](), rmw.String("9007199254740993")).Text())
	assert.Equal(t, "9007199254740993", through(t, rmw.JSON[json.RawMessage](), rmw.String("9007199254740993")).Text())
	assert.Equal(t, "-9223372036854775808", through(t, rmw.JSON[int64](), rmw.String("-9223372036854775808")).Text())
}

func TestJSONDoesNotEscapeHTML(t *testing.T) {
	const doc = `{"title":"<b>Tom & Jerry</b> 日本","members":null}`
	assert.Equal(t, doc, through(t, rmw.JSON[room](), rmw.String(doc)).Text())
	assert.Equal(t, doc, through(t, rmw.JSON[json.RawMessage](), rmw.String(doc)).Text())
}

func TestJSONHasNoTrailingNewline(t *testing.T) {
	v, err := rmw.JSON[string]().Encode(new("a\n"), rmw.Value{})
	require.NoError(t, err)
	assert.Equal(t, `"a\n"`, v.Text())
	assert.Equal(t, rmw.KindString, rmw.JSON[string]().Kind())
}

func TestJSONAllowsSpaceAroundTheDocument(t *testing.T) {
	assert.Equal(t, "7", through(t, rmw.JSON[int](), rmw.String(" \t\r\n7\n ")).Text())
}

func TestJSONLosesWhatTDoesNotKnow(t *testing.T) {
	assert.Equal(t, `{"title":"x","members":null}`, through(t, rmw.JSON[room](), rmw.String(`{"title":"x","unknown":1}`)).Text())
}

// picky has an UnmarshalJSON that quotes what it was given, as time.Time's does.
type picky struct{}

var errPicky = errors.New("picky")

type pickyError struct{ doc string }

func (e pickyError) Error() string { return e.doc }

func (*picky) UnmarshalJSON(b []byte) error {
	return fmt.Errorf("%w: %w", errPicky, pickyError{string(b)})
}

func TestJSONDecodeErrorsAreClearAndHideContent(t *testing.T) {
	check := func(name string, err error, says string) {
		t.Helper()
		require.Error(t, err, name)
		assert.ErrorContains(t, err, says, name)
		assertHidden(t, fmt.Sprintf("%v %+v", err, err), name)
		for e := err; e != nil; e = errors.Unwrap(e) { // what chain walkers show
			assertHidden(t, e.Error(), name)
		}
	}
	check("empty", decodeJSON[room](""), "json: the stored value is empty")
	check("blank", decodeJSON[any](" \n"), "json: the stored value is empty")
	check("trailing document", decodeJSON[room](`{}{"title":"`+private+`"}`), "goes on after the document")
	check("trailing garbage", decodeJSON[int]("7 "+private), "goes on after the document")
	check("trailing bracket", decodeJSON[int]("7]"), "goes on after the document")
	check("no JSON", decodeJSON[any](private), "json: malformed at byte 1")
	check("malformed within", decodeJSON[any](`{"a":`+private+`}`), "json: malformed at byte 6")
	check("cut", decodeJSON[room](`{"title":"`+private), "json: the stored value ends within the document")
	check("string for a number", decodeJSON[int](`"`+private+`"`), "json: a string at byte 15 does not fit int")
	check("object for a slice", decodeJSON[room](`{"members":{"`+private+`":1}}`), "does not fit []string")
	check("time", decodeJSON[time.Time](`"`+private+`"`), "json: the stored value is not a time.Time")
	check("base64", decodeJSON[[]byte](`"`+private+`!"`), "json: the stored value is not a []uint8")
	check("number", decodeJSON[json.Number](`"`+private+`"`), "json: the stored value is not a json.Number")
	check("quoted number", decodeJSON[struct {
		N int `json:",string"`
	}](`{"N":"`+private+`"}`), "json: the stored value is not a struct")
	check("map key", decodeJSON[map[int]int](`{"`+private+`":1}`), "does not fit int")
	check("own method", decodeJSON[picky](`"`+private+`"`), "json: the stored value is not a rmw_test.picky")

	err := decodeJSON[int8](`8005551234`)
	require.ErrorContains(t, err, "json: a number at byte 10 does not fit int8")
	assert.NotContains(t, err.Error(), "555", "a number is content, too")
}

// Hidden is only the text: programs still find what they look for.
func TestJSONDecodeErrorsCanBeInspected(t *testing.T) {
	err := decodeJSON[picky](`"x"`)
	require.ErrorIs(t, err, errPicky)
	require.ErrorAs(t, err, new(pickyError))
	require.ErrorAs(t, decodeJSON[int](`"x"`), new(*json.UnmarshalTypeError))
	require.ErrorAs(t, decodeJSON[int](`x`), new(*json.SyntaxError))
}

func decodeJSON[T any](stored string) error {
	var v T
	return rmw.JSON[T]().Decode(rmw.String(stored), &v)
}

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
