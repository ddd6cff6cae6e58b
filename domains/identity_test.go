package domains_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/rmw"
)

// A value under another entity's key, such as a copy or a backup restored under a wrong name, is an error that
// quotes nothing of it and changes nothing. A value without an id is that of its key.
func TestWrongStoredID(t *testing.T) {
	everywhere(t, func(t *testing.T, w fixture) {
		old := before(w.layout, map[string]string{"id": `"` + secret + `"`, "size": "1"})
		codecs := map[string]rmw.Codec[Ticket]{"ours": ticketCodec(w.layout)}
		if w.layout == domains.JSON {
			codecs["their own"] = rmw.JSON[Ticket]()
		}
		for name, codec := range codecs {
			put(t, w.Direct, "7", before(w.layout, map[string]string{"id": `""`, "size": "1"}))
			n, err := keyed(w.Open(), codec).Get(t.Context(), "7")
			require.NoError(t, err)
			assert.Equal(t, "7", n.ID, name)
			put(t, w.Direct, "7", old)
			for call, err := range everyCall(t, keyed(w.Open(), codec)) {
				require.ErrorIs(t, err, rmw.ErrUndecodable, name)
				require.NotErrorIs(t, err, rmw.ErrInvalid, name)
				require.ErrorContains(t, err, `the key is that of the ticket "7", and the id in the document is another`, call)
				requireSilent(t, err)
				assert.True(t, old.Equal(stored(t, w.Direct, "7")))
			}
		}
	})
}
