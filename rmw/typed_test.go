package rmw_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

type room struct {
	Title   string   `json:"title"`
	Members []string `json:"members"`
}

var roomKey = rmw.Key{Name: "room:7"}

// rooms returns a view of rooms, the storage below, and what it holds.
func rooms(t *testing.T, stored string) (rmw.Typed[room], *rmwtest.Memory) {
	t.Helper()
	m := rmwtest.NewMemory()
	if stored != "" {
		require.NoError(t, m.Set(t.Context(), roomKey.Name, rmw.String(stored), rmw.NoTTL))
	}
	return rmw.NewTyped(m, rmw.JSON[room]()), m
}

// held is what the storage holds under roomKey.
func held(t *testing.T, m *rmwtest.Memory) rmw.Value {
	t.Helper()
	v, _, err := m.Get(t.Context(), roomKey.Name)
	require.NoError(t, err)
	return v
}

func TestTypedGetTellsAbsentFromZero(t *testing.T) {
	for stored, want := range map[string]bool{"": false, "{}": true} {
		typed, _ := rooms(t, stored)
		r, exists, err := typed.Get(t.Context(), roomKey)
		require.NoError(t, err)
		assert.Equal(t, want, exists)
		assert.Zero(t, r)
	}
}

func TestTypedPeek(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		typed, m := rooms(t, "")
		r, left, err := typed.Peek(t.Context(), roomKey)
		require.NoError(t, err)
		assert.Zero(t, left)
		assert.Zero(t, r)
		require.NoError(t, m.Set(t.Context(), roomKey.Name, rmw.String(`{"title":"seven"}`), time.Hour))
		time.Sleep(time.Minute)
		logged := rmw.Chain(m, rmw.Log(slog.New(slog.DiscardHandler)))
		r, left, err = rmw.NewTyped(logged, rmw.JSON[room]()).Peek(t.Context(), roomKey)
		require.NoError(t, err)
		assert.Equal(t, room{Title: "seven"}, r)
		assert.Equal(t, 59*time.Minute, left)
		_, _, err = rmw.NewTyped(opaque{m}, rmw.JSON[room]()).Peek(t.Context(), roomKey)
		require.ErrorIs(t, err, rmw.ErrUnsupported)
	})
}

func TestTypedEditStoresTheEditedValue(t *testing.T) {
	typed, m := rooms(t, "")
	for _, step := range []struct{ before, after room }{
		{room{}, room{Title: "seven"}},
		{room{Title: "seven"}, room{Title: "seven", Members: []string{"ann"}}},
	} {
		stored := held(t, m)
		r, res, err := typed.Edit(t.Context(), roomKey, func(_ context.Context, r *room, exists bool) error {
			assert.Equal(t, stored.Exists(), exists)
			assert.Equal(t, step.before, *r)
			*r = step.after
			return nil
		})
		require.NoError(t, err)
		assert.True(t, res.Written)
		assert.Equal(t, step.after, r)
	}
	assert.Equal(t, `{"title":"seven","members":["ann"]}`, held(t, m).Text())
}

// The codec decides on the kind, not the Key. Errors of the Store pass.
func TestTypedSetsTheKindOfTheKey(t *testing.T) {
	m := rmwtest.NewMemory()
	hashes := rmw.NewTyped(m, rmw.HashOf[session]())
	_, _, err := hashes.Edit(t.Context(), roomKey, func(_ context.Context, s *session, _ bool) error { s.State = "open"; return nil })
	require.NoError(t, err)
	assert.Equal(t, rmw.KindHash, held(t, m).Kind())

	texts, key := rmw.NewTyped(m, rmw.Text[string]()), rmw.Key{Name: roomKey.Name, Kind: rmw.KindHash}
	_, exists, err := texts.Get(t.Context(), key)
	require.ErrorIs(t, err, rmw.ErrWrongKind)
	assert.False(t, exists)
	_, _, err = texts.Peek(t.Context(), key)
	require.ErrorIs(t, err, rmw.ErrWrongKind)
	_, _, err = texts.Edit(t.Context(), key, func(context.Context, *string, bool) error { return nil })
	require.ErrorIs(t, err, rmw.ErrWrongKind)
}

// What edit returns decides what is stored, and the answer is what is stored, not what edit left of it.
func TestTypedEditObeysKeepRemoveAndErrors(t *testing.T) {
	const seven = `{"title":"seven","unknown":1}`
	keep, remove := fmt.Errorf("already a member: %w", rmw.Keep), fmt.Errorf("the last one left: %w", rmw.Remove)
	for _, tc := range []struct {
		stored    string
		returned  error
		want      string // is stored
		edited    room
		wantError error
	}{
		{seven, rmw.Keep, seven, room{Title: "seven"}, nil},
		{seven, keep, seven, room{Title: "seven"}, nil},
		{seven, errors.Join(errFull, rmw.Keep), seven, room{Title: "seven"}, nil},
		{"", rmw.Keep, "", room{}, nil},
		{"", keep, "", room{}, nil},
		{"", errors.Join(errFull, rmw.Keep), "", room{}, nil},
		{seven, rmw.Remove, "", room{}, nil},
		{seven, remove, "", room{}, nil},
		{"", rmw.Remove, "", room{}, nil},
		{"", remove, "", room{}, nil},
		{seven, errFull, seven, room{}, errFull}, // as it is, not wrapped
	} {
		typed, m := rooms(t, tc.stored)
		r, res, err := typed.Edit(t.Context(), roomKey, func(_ context.Context, r *room, _ bool) error {
			r.Title = "dropped"
			return tc.returned
		})
		what := fmt.Sprintf("%q, %v", tc.stored, tc.returned)
		assert.Equal(t, tc.wantError, err, what)
		assert.Equal(t, tc.edited, r, what)
		assert.Equal(t, tc.want, held(t, m).Text(), what)
		assert.Equal(t, tc.want != "", held(t, m).Exists(), what)
		assert.Equal(t, tc.want != tc.stored, res.Written, what)
		if err != nil {
			assert.Equal(t, rmw.Result{Attempts: 1}, res, what)
		}
	}
}

// An edit that is called again must not see what it did the first time, nor may
// its pointers reach into what it is given now.
func TestTypedEditStartsAfreshOnAConflict(t *testing.T) {
	typed, m := rooms(t, `{"title":"seven","members":["ann"]}`)
	var given []room
	r, res, err := typed.Edit(t.Context(), roomKey, func(ctx context.Context, r *room, _ bool) error {
		given = append(given, room{r.Title, append([]string(nil), r.Members...)})
		if len(given) == 1 {
			require.NoError(t, m.Set(ctx, roomKey.Name, rmw.String(`{"members":["bob"]}`), rmw.NoTTL))
		}
		r.Title += "!"
		r.Members[0] = "overwritten"
		r.Members = append(r.Members, "me")
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, 2, res.Attempts)
	assert.Equal(t, []room{{"seven", []string{"ann"}}, {"", []string{"bob"}}}, given)
	assert.Equal(t, room{"!", []string{"overwritten", "me"}}, r)
	assert.Equal(t, `{"title":"!","members":["overwritten","me"]}`, held(t, m).Text())
}

func TestTypedEditForgetsARemoveAfterConflict(t *testing.T) {
	typed, m := rooms(t, `{"title":"seven"}`)
	calls := 0
	r, _, err := typed.Edit(t.Context(), roomKey, func(ctx context.Context, r *room, _ bool) error {
		if calls++; calls == 1 {
			require.NoError(t, m.Set(ctx, roomKey.Name, rmw.String(`{"title":"eight"}`), rmw.NoTTL))
			return rmw.Remove
		}
		return rmw.Keep
	})
	require.NoError(t, err)
	assert.Equal(t, room{Title: "eight"}, r)
}

func TestUndecodableValueIsAnErrorAndUntouched(t *testing.T) {
	for _, stored := range []string{"not JSON: " + private, `{"title":1}`, `{"title":"` + private, `{} {}`, " "} {
		assertUndecodable(t, rmw.JSON[room](), rmw.String(stored), "string(")
	}
	assertUndecodable(t, rmw.HashOf[session](), rmw.Hash(map[string]string{"state": "open", "calls": private}), "hash(2 fields, ")
}

func assertUndecodable[T any](t *testing.T, codec rmw.Codec[T], stored rmw.Value, says string) {
	t.Helper()
	m := rmwtest.NewMemory()
	require.NoError(t, m.Set(t.Context(), roomKey.Name, stored, rmw.NoTTL))
	typed := rmw.NewTyped(m, codec)
	_, exists, getErr := typed.Get(t.Context(), roomKey)
	assert.True(t, exists)
	_, left, peekErr := typed.Peek(t.Context(), roomKey)
	assert.EqualValues(t, rmw.NoTTL, left)
	_, res, editErr := typed.Edit(t.Context(), roomKey, func(context.Context, *T, bool) error {
		t.Error("edit was called without a value")
		return nil
	})
	assert.False(t, res.Written)
	for _, err := range []error{getErr, peekErr, editErr} {
		require.ErrorIs(t, err, rmw.ErrUndecodable)
		require.ErrorContains(t, err, `rmw: decode "room:7": the stored value cannot be decoded: `+says)
		assertHidden(t, err.Error(), says)
	}
	assert.True(t, held(t, m).Equal(stored))
}

// What a codec says of a value that it cannot encode may quote it.
func TestUnencodableValueIsNotStored(t *testing.T) {
	for v, says := range map[any]string{
		make(chan int):       "invalid argument: json: unsupported type: chan int",
		json.Number(private): "invalid argument: the codec cannot encode the value",
	} {
		m := rmwtest.NewMemory()
		_, _, err := rmw.NewTyped(m, rmw.JSON[any]()).Edit(t.Context(), roomKey, func(_ context.Context, stored *any, _ bool) error {
			*stored = v
			return nil
		})
		require.ErrorIs(t, err, rmw.ErrInvalid)
		require.ErrorContains(t, err, `rmw: encode "room:7": `+says)
		assertHidden(t, err.Error(), says)
		assert.False(t, held(t, m).Exists())
	}
}
