package domains_test

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// bySize is a repair that goes by another field than the one it writes: a size below zero, which breaks a rule,
// is that of the tags.
func bySize(t *Ticket) {
	if t.Size < 0 {
		t.Size = len(t.Tags)
	}
}

// mended are tickets which are repaired when they are read.
func mended(store rmw.Store, layout domains.Layout, mend ...func(*Ticket)) tickets {
	return repository(store, domains.CodecOf(layout, nil, mend...), nil)
}

// before is a ticket from before its rules, in a layout, with some fields changed.
func before(layout domains.Layout, changes map[string]string) rmw.Value {
	fields := map[string]string{
		"id": `"7"`, "size": "-1", "tags": `["x","y"]`, "big": "5", "loud": "true", "version": "4", "stranger": `{"n":1}`,
		"part:p": `{"name":"p","stranger":2}`,
	}
	maps.Copy(fields, changes)
	if layout != domains.JSON {
		fields["id"] = strings.Trim(fields["id"], `"`)
		return rmw.Hash(fields)
	}
	var text strings.Builder
	text.WriteString(`{"parts":{"p":` + fields["part:p"] + `}`)
	delete(fields, "part:p")
	for name, value := range fields {
		text.WriteString(`,"` + name + `":` + value)
	}
	return rmw.String(text.String() + "}")
}

// A Mend repairs a value that cannot be read without, and sees the key's id where none is stored. An entity without an id
// gets the id of its key. A read and a refusal store no repair; the next change stores the whole repair, and keeps unknown
// fields.
func TestMend(t *testing.T) {
	for name, test := range map[string]struct {
		id, size    string
		mend        func(*Ticket)
		undecodable bool // without Mend
		title       string
	}{
		"a broken rule":       {`"7"`, "-1", bySize, true, ""},
		"no id":               {`""`, "2", nil, false, ""},
		"no id, seen":         {`""`, "2", func(t *Ticket) { t.Title = "of " + t.ID }, false, "of 7"},
		"a wrong id, emptied": {`"` + secret + `"`, "2", func(t *Ticket) { t.ID = "" }, true, ""},
		"a wrong id, set":     {`"` + secret + `"`, "2", func(t *Ticket) { t.ID = "7" }, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, w fixture) {
				old := before(w.layout, map[string]string{"id": test.id, "size": test.size})
				put(t, w.Direct, "7", old)
				plain, repo := keyed(w.Open(), ticketCodec(w.layout)), keyed(w.Open(), domains.CodecOf(w.layout, nil, nil, test.mend))
				_, err := plain.Get(t.Context(), "7")
				require.Equal(t, test.undecodable, errors.Is(err, rmw.ErrUndecodable))
				n, err := repo.Get(t.Context(), "7")
				require.NoError(t, err)
				assert.Equal(t, []any{"7", 2, test.title, uint64(4)}, []any{n.ID, n.Size, n.Title, n.Version})
				for _, outcome := range []error{rmw.Keep, errTooLoud} {
					got, err := repo.Edit(t.Context(), "7", opAt("a"), func(got *Ticket) error {
						assert.Equal(t, n, *got)
						return outcome
					})
					assert.Equal(t, err == nil, assert.ObjectsAreEqual(n, got), "the answer to a Keep is repaired")
					assert.True(t, old.Equal(stored(t, w.Direct, "7")), "nothing is written")
				}

				n, err = repo.Edit(t.Context(), "7", opAt("a"), grow)
				require.NoError(t, err)
				got, err := plain.Get(t.Context(), "7")
				require.NoError(t, err)
				assert.Equal(t, n, got)
				assert.Equal(t, []any{3, test.title, uint64(5), uint64(5)}, []any{got.Size, got.Title, got.Version, got.Big})
				raw, _ := got.Parts["p"].Unknown.Field("stranger")
				assert.Equal(t, "2", string(raw))
				text := stored(t, w.Direct, "7").Text()
				if w.layout != domains.JSON {
					text, _ = stored(t, w.Direct, "7").Field("stranger")
				}
				assert.Contains(t, text, `{"n":1}`)
			})
		})
	}
}

// A value that still breaks a rule, is of a later Format or is malformed is an error as without Mend, which
// sees no later Format.
func TestMendCannotBypassCheck(t *testing.T) {
	eachLayout(t, func(t *testing.T, layout domains.Layout) {
		for says, test := range map[string]struct {
			changes map[string]string
			mend    func(*Ticket)
		}{
			"size is negative": {nil, func(t *Ticket) { t.Size-- }},
			"the title has 65 bytes, at most 64 are permitted": {nil, func(t *Ticket) {
				t.Size, t.Title = 0, strings.Repeat("x", 65)
			}},
			"format 2: this program knows formats up to 1": {
				map[string]string{"format": "2"}, func(*Ticket) { panic("of a later format") },
			},
			"an operation is remembered twice": {
				map[string]string{"applied": `[{"id":"a"},{"id":"a"}]`}, func(t *Ticket) { t.Applied = nil },
			},
			"is not a number that fits int": {
				map[string]string{"size": `"many"`}, func(*Ticket) { panic("of another form") },
			},
		} {
			memory := rmwtest.NewMemory()
			assertUndecodable(t, memory, mended(memory, layout, test.mend), before(layout, test.changes), says)
		}
	})
}

// Mend cannot change the Header: the Format, the Version and the remembered operations.
func TestMendKeepsTheHeader(t *testing.T) {
	applied := map[string]string{"applied": `[{"id":"a","op":"Edit","number":3}]`, "format": "1"}
	for name, mend := range map[string]func(*Ticket){
		"built anew": func(t *Ticket) { *t = Ticket{ID: t.ID} },
		"in place":   func(t *Ticket) { t.Applied[0], t.Size, t.Format, t.Version = domains.Applied{ID: "b"}, 0, 9, 1 },
	} {
		eachLayout(t, func(t *testing.T, layout domains.Layout) {
			memory := rmwtest.NewMemory()
			put(t, memory, "7", before(layout, applied))
			repo := mended(memory, layout, mend)
			want := domains.Header{Format: 1, Version: 4, Applied: []domains.Applied{{ID: "a", Op: "Edit", Number: 3}}}
			n, err := repo.Get(t.Context(), "7")
			require.NoError(t, err)
			assert.Equal(t, want, n.Header, name)
			_, number, err := repo.Number(t.Context(), "7", opAt("a"), func(*Ticket) (uint64, error) { panic("it has happened") })
			require.NoError(t, err)
			assert.Equal(t, uint64(3), number, name)
			n, err = repo.Edit(t.Context(), "7", opAt("c"), grow)
			require.NoError(t, err)
			assert.Equal(t, uint64(5), n.Version, name)
		})
	}
}

// The guard compares the stored value and every field that Mend may have read: a concurrent write that does not
// count the version up makes the change start again.
func TestMendIsGuarded(t *testing.T) {
	for name, meanwhile := range map[string]struct {
		changes    map[string]string
		size, tags int
	}{
		"what is mended":          {map[string]string{"size": "-2"}, 2, 2},
		"what is mended already":  {map[string]string{"size": "9"}, 9, 2},
		"what mend goes by":       {map[string]string{"tags": `["x","y","z"]`}, 3, 3},
		"as the change leaves it": {map[string]string{"size": "2"}, 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, w fixture) {
				put(t, w.Direct, "7", before(w.layout, nil))
				calls := 0
				n, err := mended(w.Open(), w.layout, bySize).Edit(t.Context(), "7", opAt("a"), func(n *Ticket) error {
					if calls++; calls == 1 {
						assert.Equal(t, 2, n.Size)
						put(t, w.Direct, "7", before(w.layout, meanwhile.changes))
					}
					n.Title = strings.Repeat("t", n.Size)
					return nil
				})
				require.NoError(t, err)
				assert.Equal(t, 2, calls, "a change is made to what is stored")
				assert.Equal(t, []int{meanwhile.size, meanwhile.size, meanwhile.tags}, []int{n.Size, len(n.Title), len(n.Tags)})
				got, err := w.Get(t.Context(), "7")
				require.NoError(t, err)
				assert.Equal(t, n, got)
			})
		})
	}
}
