package rmw_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
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

func TestHashOfLeavesOutEmptyFieldsOnlyIfAsked(t *testing.T) {
	stored := rmw.Hash(map[string]string{"owner": "ann", "seen": "2026-01-02T03:04:05Z", "Weight": "1"})
	v, err := rmw.HashOf[session]().Encode(&session{}, stored)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"state": "", "calls": "0", "Active": "false"}, v.Fields())
}

func TestHashOfKeepsFieldsItDoesNotKnow(t *testing.T) {
	m := rmwtest.NewMemory()
	key := rmw.Key{Name: "s"}
	require.NoError(t, m.Set(t.Context(), key.Name, rmw.Hash(map[string]string{
		"state": "open", "added by a newer release": "x", "Note": "y", "private": "z", "": "empty name",
	}), rmw.NoTTL))
	_, _, err := rmw.NewTyped(m, rmw.HashOf[session]()).Edit(t.Context(), key, func(_ context.Context, s *session, _ bool) error {
		s.State = "closed"
		return nil
	})
	require.NoError(t, err)
	v, _, err := m.Get(t.Context(), key.Name)
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

func TestHashOfDecodeErrorsNameTheFieldAndHideContent(t *testing.T) {
	for field, says := range map[string]string{
		"calls":  `field "calls": the stored text (13 bytes) is not a int64`,
		"seen":   `field "seen": the stored text (13 bytes) is not a time.Time`,
		"Active": `field "Active": the stored text (13 bytes) is not a bool`,
	} {
		m := rmwtest.NewMemory()
		stored := rmw.Hash(map[string]string{"state": "open", field: private})
		require.NoError(t, m.Set(t.Context(), "s", stored, rmw.NoTTL))
		typed := rmw.NewTyped(m, rmw.HashOf[session]())
		_, _, err := typed.Edit(t.Context(), rmw.Key{Name: "s"}, func(context.Context, *session, bool) error { return nil })
		require.ErrorIs(t, err, rmw.ErrUndecodable)
		require.ErrorContains(t, err, `rmw: decode "s": the stored value cannot be decoded: hash(2 fields, `)
		require.ErrorContains(t, err, says)
		assertHidden(t, err.Error(), field)
		v, _, err := m.Get(t.Context(), "s")
		require.NoError(t, err)
		assert.True(t, v.Equal(stored), "it is not touched")
	}
}

// half encodes, but only up to a point.
type half struct{ bad bool }

var errHalf = errors.New("half")

func (h half) MarshalText() ([]byte, error) {
	if h.bad {
		return nil, errHalf
	}
	return []byte("h"), nil
}

func (*half) UnmarshalText([]byte) error { return nil }

func TestHashOfEncodeErrorsNameTheField(t *testing.T) {
	type withHalf struct {
		A string `redis:"a"`
		H half   `redis:"h"`
	}
	v, err := rmw.HashOf[withHalf]().Encode(&withHalf{H: half{bad: true}}, rmw.Value{})
	require.ErrorIs(t, err, errHalf)
	assert.ErrorContains(t, err, `field "h"`)
	assert.False(t, v.Exists())
}

type (
	Base      struct{ ID string }
	base      struct{ ID string }
	Embedding struct {
		Base
		Name string
	}
	embedding struct {
		base
		Name string
	}
	embeddingPointer struct {
		*base
		Name string
	}
	untagged struct {
		base `redis:"-"`
		*Base
		Name string
	}
	stamp         struct{ time.Time }
	embeddingText struct {
		stamp
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
	assertUnusable[Embedding](t, "rmw_test.Embedding.Base: text cannot stand for a rmw_test.Base")
	assertUnusable[embedding](t, "rmw_test.embedding.base: text cannot stand for a rmw_test.base")
	assertUnusable[embeddingPointer](t, "rmw_test.embeddingPointer.base: text cannot stand for a *rmw_test.base")
	assertUnusable[untagged](t, "rmw_test.untagged.Base: text cannot stand for a *rmw_test.Base")

	assertUnusable[embeddingText](t, "rmw_test.embeddingText.stamp: text cannot stand for a rmw_test.stamp")

	v, err := rmw.HashOf[embeddingTime]().Encode(&embeddingTime{Name: "n"}, rmw.Value{})
	require.NoError(t, err, "one that has a text form is a field like any other")
	assert.Equal(t, map[string]string{"Time": "0001-01-01T00:00:00Z", "Name": "n"}, v.Fields())
}

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
