package main

import (
	"context"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	var out strings.Builder
	ok, err := run(t.Context(), &out)
	require.NoError(t, err)
	assert.True(t, ok)
	for line := range strings.Lines(out.String()) {
		assert.LessOrEqual(t, len(line)-1, 80, line)
	}
	assert.Equal(t, `UPDATE rooms SET state = ?1, token = ?2 WHERE id = ?3 AND token <= ?2
  ada  has the lock and token N, and stalls
  bob  has the lock and token N, and writes
  ada  wakes up; ctx.Err() is still <nil>
       writes and is refused: stale token: a later holder has written
  the table says "bob was here"

UPDATE rooms SET state = ?1, token = ?2 WHERE id = ?3
  ada  has the lock and token N, and stalls
  bob  has the lock and token N, and writes
  ada  wakes up; ctx.Err() is still <nil>
       writes and is told: done
  the table says "ada was here"

OK: the token kept the newer write; without it, it was lost.

1600 requests for 200 items; each 20th stalls past its lease
  lock alone     sold 270, refused 0 late sales
  lock and token sold 200, refused 11 late sales
  lock and Guard sold 200, refused 11 late sales
`, regexp.MustCompile(`token \d+`).ReplaceAllString(out.String(), "token N"))
}

func TestTokenKeepsNewerWrite(t *testing.T) {
	state, err := play(t.Context(), io.Discard, fencedWrite)
	require.NoError(t, err)
	assert.Equal(t, newer, state)
}

// Negative control: without the token, the same stall loses the newer write.
func TestWithoutTokenUpdateIsLost(t *testing.T) {
	state, err := play(t.Context(), io.Discard, plainWrite)
	require.NoError(t, err)
	assert.Equal(t, late, state)
}

func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		fenced, control string
		ok              bool
	}{
		{newer, late, true},
		{late, late, false},
		{"", late, false},
		{newer, newer, false},
	} {
		ok, text := verdict(c.fenced, c.control)
		assert.Equal(t, c.ok, ok, text)
	}
}

// The statements of the package comment work as described.
func TestRooms(t *testing.T) {
	r := open(t)
	require.NoError(t, r.set(t.Context(), room, "a", 5))
	require.NoError(t, r.set(t.Context(), room, "a", 5), "a holder may write again, also the same")
	require.ErrorIs(t, r.set(t.Context(), room, "b", 4), errStale)
	require.ErrorIs(t, r.set(t.Context(), "other", "b", 6), errStale, "no such row")
	assertState(t, r, "a")
}

// A read that raises the token excludes a late write even before the first new write; a plain read does
// not.
func TestReadRaisesToken(t *testing.T) {
	r := open(t)
	require.NoError(t, r.set(t.Context(), room, "a", 5))
	assertState(t, r, "a")
	require.NoError(t, r.set(t.Context(), room, "late", 5), "after a plain read by 6")

	var state string
	require.NoError(t, r.db.QueryRowContext(t.Context(),
		`UPDATE rooms SET token = ?1 WHERE id = ?2 AND token <= ?1 RETURNING state`, 6, room).Scan(&state))
	assert.Equal(t, "late", state)
	require.ErrorIs(t, r.set(t.Context(), room, "later", 5), errStale)
	require.NoError(t, r.set(t.Context(), room, state+" and newer", 6))
	assertState(t, r, "late and newer")
}

func TestRunFails(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ok, err := run(ctx, io.Discard)
	require.ErrorIs(t, err, context.Canceled)
	assert.False(t, ok)
}

func open(t *testing.T) *rooms {
	t.Helper()
	r, err := openRooms(t.Context(), fencedWrite, room)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, r.close()) })
	return r
}

func assertState(t *testing.T, r *rooms, want string) {
	t.Helper()
	state, err := r.state(t.Context(), room)
	require.NoError(t, err)
	assert.Equal(t, want, state)
}
