package domains_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/rmw"
)

// A value under another entity's key, such as a copy or a backup restored under a wrong name, is an error that
// quotes nothing of it and changes nothing.
func TestWrongStoredID(t *testing.T) {
	everywhere(t, func(t *testing.T, w fixture) {
		old := before(w.layout, map[string]string{"id": `"` + secret + `"`, "size": "1"})
		put(t, w.Direct, "7", old)
		codecs := map[string]rmw.Codec[Ticket]{"ours": ticketCodec(w.layout)}
		if w.layout == domains.JSON {
			codecs["their own"] = rmw.JSON[Ticket]()
		}
		for name, codec := range codecs {
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

// An entity without an id gets the id of its key, and stores it with the next change. A Mend may empty a wrong
// id, and sees the key's id where none is stored.
func TestMissingStoredID(t *testing.T) {
	for name, test := range map[string]struct {
		id   string
		mend func(*Ticket)
	}{
		"empty":   {"", nil},
		"seen":    {"", func(t *Ticket) { t.Title = "of " + t.ID }},
		"emptied": {secret, func(t *Ticket) { t.ID = "" }},
		"set":     {secret, func(t *Ticket) { t.ID = "7" }},
	} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, w fixture) {
				old := before(w.layout, map[string]string{"id": `"` + test.id + `"`, "size": "1"})
				put(t, w.Direct, "7", old)
				repo := keyed(w.Open(), domains.CodecOf(w.layout, nil, test.mend))
				n, err := repo.Get(t.Context(), "7")
				require.NoError(t, err)
				assert.Equal(t, "7", n.ID)
				assert.True(t, old.Equal(stored(t, w.Direct, "7")))
				n, err = repo.Edit(t.Context(), "7", opAt("a"), grow)
				require.NoError(t, err)
				got, err := w.Get(t.Context(), "7")
				require.NoError(t, err)
				assert.Equal(t, n, got)
				assert.Equal(t, "7", got.ID)
				if name == "seen" {
					assert.Equal(t, "of 7", got.Title)
				}
			})
		})
	}
}
