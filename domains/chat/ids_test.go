package chat_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/rmw"
)

// A room under another's key is an error, and one without an id has that of its key.
func TestIDs(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		for id, says := range map[string]string{"8": `the key is that of the room "7"`, "": ""} {
			v := rmw.String(`{"id":"` + id + `","status":"open"}`)
			if w.layout != domains.JSON {
				v = rmw.Hash(map[string]string{"id": id, "status": "open"})
			}
			require.NoError(t, w.Direct.Set(t.Context(), "chat:room:7", v, rmw.NoTTL))
			room, err := w.Touch(t.Context(), "7", op("a", 1))
			if says != "" {
				require.ErrorIs(t, err, rmw.ErrUndecodable)
				require.ErrorContains(t, err, says)
				assert.True(t, v.Equal(w.stored(t, "7")))
				continue
			}
			require.NoError(t, err)
			assert.Equal(t, "7", room.ID)
		}
	})
}
