package rmw_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

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

func join(name string) func(context.Context, *room, bool) error {
	return func(_ context.Context, r *room, _ bool) error {
		r.Members = append(r.Members, name)
		return nil
	}
}

func TestTypedGetTellsAbsentFromZero(t *testing.T) {
	typed, _ := rooms(t, "")
	r, exists, err := typed.Get(t.Context(), roomKey)
	require.NoError(t, err)
	assert.False(t, exists)
	assert.Zero(t, r)

	typed, _ = rooms(t, "{}")
	r, exists, err = typed.Get(t.Context(), roomKey)
	require.NoError(t, err)
	assert.True(t, exists)
	assert.Zero(t, r)
}

func TestTypedEditStoresWhatEditMakesOfTheValue(t *testing.T) {
	typed, m := rooms(t, "")
	r, res, err := typed.Edit(t.Context(), roomKey, func(_ context.Context, r *room, exists bool) error {
		assert.False(t, exists)
		assert.Zero(t, *r)
		r.Title = "seven"
		return nil
	})
	require.NoError(t, err)
	assert.True(t, res.Written)
	assert.Equal(t, room{Title: "seven"}, r)

	r, _, err = typed.Edit(t.Context(), roomKey, func(ctx context.Context, r *room, exists bool) error {
		assert.True(t, exists)
		return join("ann")(ctx, r, exists)
	})
	require.NoError(t, err)
	assert.Equal(t, room{Title: "seven", Members: []string{"ann"}}, r)
	assert.Equal(t, `{"title":"seven","members":["ann"]}`, held(t, m).Text())
}

func TestTypedSetsTheKindOfTheKey(t *testing.T) {
	m := rmwtest.NewMemory()
	hashes := rmw.NewTyped(m, rmw.HashOf[session]())
	_, _, err := hashes.Edit(t.Context(), roomKey, func(_ context.Context, s *session, _ bool) error { s.State = "open"; return nil })
	require.NoError(t, err)
	assert.Equal(t, rmw.KindHash, held(t, m).Kind())

	texts := rmw.NewTyped(m, rmw.Text[string]())
	_, _, err = texts.Get(t.Context(), rmw.Key{Name: roomKey.Name, Kind: rmw.KindHash})
	require.ErrorIs(t, err, rmw.ErrWrongKind, "the codec decides, not the Key")
}

// The answer is the stored value, not what edit left of it.
func TestKeepWritesNothingAndSucceeds(t *testing.T) {
	for _, keep := range []error{rmw.Keep, fmt.Errorf("already a member: %w", rmw.Keep), errors.Join(errFull, rmw.Keep)} {
		for stored, want := range map[string]room{`{"title":"seven","unknown":1}`: {Title: "seven"}, "": {}} {
			typed, m := rooms(t, stored)
			r, res, err := typed.Edit(t.Context(), roomKey, func(_ context.Context, r *room, _ bool) error {
				r.Title = "dropped"
				return keep
			})
			require.NoError(t, err)
			assert.False(t, res.Written)
			assert.Equal(t, want, r)
			assert.Equal(t, stored, held(t, m).Text())
		}
	}
}

func TestRemoveDeletesAndSucceeds(t *testing.T) {
	for name, remove := range map[string]error{"plain": rmw.Remove, "wrapped": fmt.Errorf("the last one left: %w", rmw.Remove)} {
		typed, m := rooms(t, `{"title":"seven"}`)
		r, res, err := typed.Edit(t.Context(), roomKey, func(context.Context, *room, bool) error { return remove })
		require.NoError(t, err, name)
		assert.True(t, res.Written, name)
		assert.Zero(t, r, name)
		assert.False(t, held(t, m).Exists(), name)

		_, res, err = typed.Edit(t.Context(), roomKey, func(context.Context, *room, bool) error { return remove })
		require.NoError(t, err, name)
		assert.False(t, res.Written, "there is nothing to delete any more: %s", name)
	}
}

func TestTypedEditReturnsTheEditsOwnError(t *testing.T) {
	typed, m := rooms(t, `{"title":"seven"}`)
	r, res, err := typed.Edit(t.Context(), roomKey, func(_ context.Context, r *room, _ bool) error {
		r.Title = "dropped"
		return errFull
	})
	assert.Equal(t, errFull, err, "as it is, not wrapped")
	assert.Zero(t, r)
	assert.Equal(t, rmw.Result{Attempts: 1}, res)
	assert.Equal(t, `{"title":"seven"}`, held(t, m).Text())
}

// An edit that is called again must not see what it did the first time, nor may
// its pointers reach into what it is given now.
func TestTypedEditStartsAfreshOnAConflict(t *testing.T) {
	typed, m := rooms(t, `{"title":"seven","members":["ann"]}`)
	var given []room
	r, res, err := typed.Edit(t.Context(), roomKey, func(ctx context.Context, r *room, exists bool) error {
		given = append(given, room{r.Title, append([]string(nil), r.Members...)})
		if len(given) == 1 {
			require.NoError(t, m.Set(ctx, roomKey.Name, rmw.String(`{"members":["bob"]}`), rmw.NoTTL))
		}
		r.Title += "!"
		r.Members[0] = "overwritten"
		return join("me")(ctx, r, exists)
	})
	require.NoError(t, err)
	assert.Equal(t, 2, res.Attempts)
	assert.Equal(t, []room{{"seven", []string{"ann"}}, {"", []string{"bob"}}}, given)
	assert.Equal(t, room{"!", []string{"overwritten", "me"}}, r)
	assert.Equal(t, `{"title":"!","members":["overwritten","me"]}`, held(t, m).Text())
}

func TestTypedEditForgetsARemoveThatDidNotWin(t *testing.T) {
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
		typed, m := rooms(t, stored)
		_, exists, err := typed.Get(t.Context(), roomKey)
		require.Error(t, err)
		assert.True(t, exists)
		assertHidden(t, err.Error(), "Get")

		_, res, err := typed.Edit(t.Context(), roomKey, func(context.Context, *room, bool) error {
			t.Error("edit was called without a value")
			return nil
		})
		require.ErrorIs(t, err, rmw.ErrUndecodable)
		require.ErrorContains(t, err, `rmw: decode "room:7": the stored value cannot be decoded: string(`)
		assertHidden(t, err.Error(), "Edit")
		assert.False(t, res.Written)
		assert.Equal(t, stored, held(t, m).Text())
	}
}

func TestUnencodableValueIsAnErrorAndNotStored(t *testing.T) {
	m := rmwtest.NewMemory()
	typed := rmw.NewTyped(m, rmw.JSON[any]())
	_, _, err := typed.Edit(t.Context(), roomKey, func(_ context.Context, v *any, _ bool) error {
		*v = func() {}
		return nil
	})
	require.ErrorIs(t, err, rmw.ErrInvalid)
	require.ErrorContains(t, err, `rmw: encode "room:7": invalid argument: json: unsupported type: func()`)
	assert.False(t, held(t, m).Exists())
}

// What a codec says of a value that it cannot encode may quote it.
func TestEncodeErrorsHideContent(t *testing.T) {
	m := rmwtest.NewMemory()
	typed := rmw.NewTyped(m, rmw.JSON[json.Number]())
	_, _, err := typed.Edit(t.Context(), roomKey, func(_ context.Context, v *json.Number, _ bool) error {
		*v = "SECRET-4111"
		return nil
	})
	require.ErrorIs(t, err, rmw.ErrInvalid)
	assert.NotContains(t, err.Error(), "SECRET")
}

func TestTypedPassesTheStoresErrors(t *testing.T) {
	typed, _ := rooms(t, "{}")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, exists, err := typed.Get(ctx, roomKey)
	require.ErrorIs(t, err, context.Canceled)
	assert.False(t, exists)
	_, _, err = typed.Edit(ctx, roomKey, join("ann"))
	require.ErrorIs(t, err, context.Canceled)
	_, _, err = typed.Edit(t.Context(), rmw.Key{}, join("ann"))
	require.ErrorIs(t, err, rmw.ErrInvalid)
}
