package rmw_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/big"
	"net/netip"
	"net/url"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
)

type session struct {
	State   string    `redis:"state"`
	Owner   string    `redis:"owner,omitempty"`
	Calls   int64     `redis:"calls"`
	Seen    time.Time `redis:"seen,omitempty"`
	Raw     []byte    `redis:"raw,omitempty"`
	Weight  float64   `redis:",omitempty"`
	Active  bool
	Note    chan int `redis:"-"`
	private string
}

func TestHashOfStoresOneFieldEach(t *testing.T) {
	codec := rmw.HashOf[session]()
	assert.Equal(t, rmw.KindHash, codec.Kind())
	s := session{
		State: "open", Owner: "ann", Calls: 9007199254740993, Seen: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Raw: []byte("\x00\xff"), Weight: 0.5, Active: true, private: "never stored",
	}
	v, err := codec.Encode(&s, rmw.Value{})
	require.NoError(t, err)
	assert.Equal(t, map[string]string{
		"state": "open", "owner": "ann", "calls": "9007199254740993", "seen": "2026-01-02T03:04:05Z",
		"raw": "\x00\xff", "Weight": "0.5", "Active": "true",
	}, v.Fields())

	var back session
	require.NoError(t, codec.Decode(v, &back))
	s.private = ""
	assert.Equal(t, s, back)
}

func TestHashOfUnknownAndEmptyFields(t *testing.T) {
	stored := rmw.Hash(map[string]string{
		"state": "open", "added by a newer release": "x", "Note": "y", "private": "z", "": "empty name",
		"owner": "ann", "seen": "2026-01-02T03:04:05Z", "Weight": "1", // omitempty
	})
	var s session
	require.NoError(t, rmw.HashOf[session]().Decode(stored, &s))
	s.State, s.Owner, s.Seen, s.Weight = "closed", "", time.Time{}, 0
	v, err := rmw.HashOf[session]().Encode(&s, stored)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{
		"state": "closed", "added by a newer release": "x", "Note": "y", "private": "z", "": "empty name", "calls": "0", "Active": "false",
	}, v.Fields())
}

func TestHashOfCannotStoreAHashWithoutFields(t *testing.T) {
	type optional struct {
		A string `redis:"a,omitempty"`
	}
	_, err := rmw.HashOf[optional]().Encode(&optional{}, rmw.Hash(map[string]string{"a": "1"}))
	require.ErrorIs(t, err, rmw.ErrInvalid)
	assert.ErrorContains(t, err, "return Remove to delete the key")

	v, err := rmw.HashOf[optional]().Encode(&optional{}, rmw.Hash(map[string]string{"a": "1", "unknown": "2"}))
	require.NoError(t, err, "what it does not know keeps it alive")
	assert.Equal(t, map[string]string{"unknown": "2"}, v.Fields())
}

func TestHashOfEncodeErrorsNameTheField(t *testing.T) {
	type withText struct {
		A string `redis:"a"`
		T texts  `redis:"t"`
	}
	v, err := rmw.HashOf[withText]().Encode(&withText{T: -1}, rmw.Value{})
	require.ErrorIs(t, err, errNegative)
	assert.ErrorContains(t, err, `field "t"`)
	assert.False(t, v.Exists())
}

type (
	Base     struct{ ID string }
	base     struct{ ID string }
	stamp    struct{ time.Time }
	untagged struct {
		base `redis:"-"`
		*Base
		Name string
	}
	embeddingTime struct {
		time.Time
		Name string
	}
)

// assertUnusable requires HashOf[T] to panic, and say why it cannot work.
func assertUnusable[T any](t *testing.T, says string) {
	t.Helper()
	defer func() {
		err, _ := recover().(error)
		require.ErrorIs(t, err, rmw.ErrInvalid, says)
		require.ErrorContains(t, err, says)
	}()
	rmw.HashOf[T]()
}

func TestHashOfRefusesTypesItCannotStore(t *testing.T) {
	assertUnusable[int](t, "a hash codec needs a struct, not int")
	assertUnusable[*session](t, "a hash codec needs a struct, not *rmw_test.session")
	assertUnusable[map[string]string](t, "a hash codec needs a struct")
	assertUnusable[any](t, "a hash codec needs a struct")
	assertUnusable[struct{}](t, "has no exported field to store")
	assertUnusable[struct{ hidden string }](t, "has no exported field to store")
	assertUnusable[struct {
		A string `redis:"x"`
		B string `redis:"x"`
	}](t, `fields A and B both use the hash field "x"`)
	assertUnusable[struct {
		B string
		A string `redis:"B,omitempty"`
	}](t, `fields B and A both use the hash field "B"`)
	assertUnusable[struct{ F room }](t, "text cannot stand for a rmw_test.room; tag it `redis:\"-\"`")
}

// The fields of an embedded struct are promoted in Go, and would be lost in Redis.
func TestHashOfRefusesEmbeddedStructs(t *testing.T) {
	assertUnusable[struct{ Base }](t, ".Base: text cannot stand for a rmw_test.Base")
	assertUnusable[struct{ base }](t, ".base: text cannot stand for a rmw_test.base")
	assertUnusable[struct{ *base }](t, ".base: text cannot stand for a *rmw_test.base")
	assertUnusable[untagged](t, "rmw_test.untagged.Base: text cannot stand for a *rmw_test.Base")
	assertUnusable[struct{ stamp }](t, ".stamp: text cannot stand for a rmw_test.stamp")

	v, err := rmw.HashOf[embeddingTime]().Encode(&embeddingTime{Name: "n"}, rmw.Value{})
	require.NoError(t, err, "one that has a text form is a field like any other")
	assert.Equal(t, map[string]string{"Time": "0001-01-01T00:00:00Z", "Name": "n"}, v.Fields())
}

type (
	namedBool   bool
	namedInt    int16
	namedUint   uint8
	namedFloat  float32
	namedString string
	namedBytes  []byte

	marshals   string // MarshalText alone
	unmarshals string // UnmarshalText alone
	texts      int    // both, unless it is negative
	scans      int    // ScanRedis alone
	scansText  int    // ScanRedis and both
	binaries   string // UnmarshalBinary alone
	binaryText string // and MarshalText, UnmarshalText
)

var errNegative = errors.New("negative")

func (m marshals) MarshalText() ([]byte, error) { return []byte("<" + m + ">"), nil }
func (m *unmarshals) UnmarshalText(b []byte) error {
	*m = unmarshals("<" + string(b) + ">")
	return nil
}
func (m texts) MarshalText() ([]byte, error) {
	if m < 0 {
		return nil, errNegative
	}
	return fmt.Append(nil, "<", int(m), ">"), nil
}
func (m *texts) UnmarshalText(b []byte) error {
	_, err := fmt.Sscanf(string(b), "<%d>", (*int)(m))
	return err
}
func (m *scans) ScanRedis(s string) error        { _, err := fmt.Sscanf(s, "%x", (*int)(m)); return err }
func (m *scansText) ScanRedis(s string) error    { _, err := fmt.Sscanf(s, "%x", (*int)(m)); return err }
func (m scansText) MarshalText() ([]byte, error) { return fmt.Append(nil, int(m)), nil }
func (m *scansText) UnmarshalText(b []byte) error {
	_, err := fmt.Sscan(string(b), (*int)(m))
	return err
}
func (m *binaries) UnmarshalBinary(b []byte) error { *m = binaries("<" + string(b) + ">"); return nil }
func (m *binaryText) UnmarshalBinary([]byte) error { return fmt.Errorf("not binary") }
func (m *binaryText) UnmarshalText(b []byte) error { *m = binaryText(b); return nil }
func (m binaryText) MarshalText() ([]byte, error)  { return []byte(m), nil }

// HashOf writes each type of field so that it and go-redis' Scan read what was written,
// or refuses it when the codec is made.
func TestHashOfAgreesWithScan(t *testing.T) {
	agree(t, true, false, true)
	agree(t, true, namedBool(true), namedBool(false))
	agree(t, true, int(math.MinInt64), 0, math.MaxInt64)
	agree(t, true, int8(-128), int8(127))
	agree(t, true, int32(-5), int32(math.MaxInt32))
	agree(t, true, namedInt(-300))
	agree(t, true, uint64(math.MaxUint64), uint64(0))
	agree(t, true, namedUint(255))
	agree(t, true, math.SmallestNonzeroFloat64, -0.1, math.Inf(1))
	agree(t, true, float32(0.1), float32(math.MaxFloat32))
	agree(t, true, namedFloat(0.3))
	agree(t, true, "", "a\x00\xffb", "7")
	agree(t, true, namedString("x"))
	agree(t, true, []byte("\x00\xff"))
	agree(t, true, time.Minute)
	agree(t, true, time.Unix(1, 500).UTC())
	agree(t, true, slog.LevelWarn)
	agree(t, true, netip.MustParseAddr("::1"))
	agree(t, true, *big.NewInt(-12345))
	agree(t, true, texts(7))
	agree(t, true, binaryText("x"))

	agree(t, false, namedBytes("x"))
	agree(t, false, json.RawMessage("1"))
	agree(t, false, marshals("x"))
	agree(t, false, unmarshals("x"))
	agree(t, false, scans(16))
	agree(t, false, scansText(16))
	agree(t, false, binaries("x"))
	agree(t, false, url.URL{Host: "h"})
	agree(t, false, uintptr(1))
	agree(t, false, complex(1, 2))
	agree(t, false, [2]byte{1, 2})
	agree(t, false, []string{"x"})
	agree(t, false, map[string]int{"x": 1})
	agree(t, false, new(int))
	agree(t, false, new(time.Time))
	agree(t, false, any("x"))
	agree(t, false, func() {})
	agree(t, false, make(chan int))
	agree(t, false, struct{ A int }{1})
}

func agree[F any](t *testing.T, accepted bool, samples ...F) {
	t.Helper()
	type record struct {
		F F `redis:"f"`
	}
	if !accepted {
		assertUnusable[record](t, "text cannot stand for a")
		return
	}
	codec := rmw.HashOf[record]()
	for _, sample := range samples {
		v, err := codec.Encode(&record{sample}, rmw.Value{})
		require.NoError(t, err)
		var ours, theirs record
		require.NoError(t, codec.Decode(v, &ours))
		require.NoError(t, redis.NewMapStringStringResult(v.Fields(), nil).Scan(&theirs))
		assert.Equal(t, sample, ours.F)
		assert.Equal(t, sample, theirs.F)
	}
}

// A decoded hash survives a round trip; an error is one short line.
func FuzzHashDecode(f *testing.F) {
	f.Add("state", "open", "calls", "1")
	f.Add("calls", "-9223372036854775809", "seen", "yesterday")
	f.Add("", "", "Weight", "NaN")
	f.Add("raw", "\x00\xff", "Active", "T")
	f.Fuzz(func(t *testing.T, name, value, name2, value2 string) {
		stored := rmw.Hash(map[string]string{name: value, name2: value2})
		fuzzCodec(t, rmw.HashOf[session](), stored)
		for _, field := range []string{"calls", "seen", "Weight", "Active"} { // the ones that can fail
			fuzzCodec(t, rmw.HashOf[session](), stored.With(field, value))
		}
	})
}
