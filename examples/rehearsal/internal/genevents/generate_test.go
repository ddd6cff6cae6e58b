package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/examples/rehearsal/internal/events"
)

// Compare lines, not compressed bytes: another version of Go may compress differently.
func TestRecordingIsWhatTheGeneratorWrites(t *testing.T) {
	recorded, err := events.Recorded()
	require.NoError(t, err)

	var day bytes.Buffer
	require.NoError(t, generate(&day))
	generated, err := events.Read(&day, "generated")
	require.NoError(t, err)
	require.Equal(t, generated, recorded, "run go generate ./examples/rehearsal/...")
}

func TestRecordingIsPlausible(t *testing.T) {
	recorded, err := events.Recorded()
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(recorded), 20000)

	perRoom, in, last := map[string]int{}, map[string]bool{}, ""
	for i, e := range recorded {
		require.GreaterOrEqual(t, e.At, last, "event %d is earlier than the one before", i)
		last = e.At
		perRoom[e.Room]++
		who := e.Room + "/" + e.Member
		require.Equal(t, e.Op != "join", in[who], "event %d: %v", i, e)
		switch e.Op {
		case "join":
			in[who] = true
		case "leave":
			delete(in, who)
		}
	}
	require.Len(t, perRoom, rooms)
	require.Greater(t, perRoom["lobby"], 20*perRoom["team-149"], "the rooms are not skewed")
}
