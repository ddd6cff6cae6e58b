package domains_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/internal/testing/entities"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// everyCall makes every call of a Repository and returns the errors.
func everyCall(t *testing.T, repo tickets, id string) map[string]error {
	t.Helper()
	_, get := repo.Get(t.Context(), id)
	_, edit := repo.Edit(t.Context(), id, opAt("o"), grow)
	_, n, number := repo.Number(t.Context(), id, opAt("o"), func(*Ticket) (uint64, error) { return 1, nil })
	assert.Zero(t, n)
	_, create := repo.Create(t.Context(), id, opAt("o"), named(id))
	_, settle := repo.Settle(t.Context(), id, now, func(*Ticket, bool) error { return nil })
	return map[string]error{"Get": get, "Edit": edit, "Number": number, "Create": create, "Settle": settle}
}

// assertUndecodable makes every call on a value that cannot be decoded. Each leaves the value as it is, and its error ends
// with says and quotes nothing.
func assertUndecodable(t *testing.T, direct rmwtest.Direct, repo tickets, v rmw.Value, says string) {
	t.Helper()
	put(t, direct, "7", v)
	for call, err := range everyCall(t, repo, "7") {
		require.ErrorIs(t, err, rmw.ErrUndecodable, call)
		require.NotErrorIs(t, err, rmw.ErrInvalid, call)
		assert.Nil(t, domains.RefusalOf(err), call)
		assert.True(t, strings.HasSuffix(err.Error(), says), "%s: %v", call, err)
		assert.Contains(t, err.Error(), `"ticket:7"`, call)
		requireSilent(t, err)
		assert.True(t, stored(t, direct, "7").Equal(v), call)
	}
}

// undecodable lists values that cannot be decoded, and their errors.
var undecodable = []struct {
	layout domains.Layout
	stored rmw.Value
	says   string
}{
	{domains.JSON, rmw.String(""), "malformed JSON at byte 0"},
	{domains.JSON, rmw.String(`{"id":"7","votes":{"` + secret + "\xe9" + `":1}}`), "the stored text is not UTF-8"},
	{domains.JSON, rmw.String(`{"id":"7","votes":{"` + secret + `\udc00":1}}`),
		"the stored JSON contains a lone UTF-16 surrogate"},
	{domains.JSON, rmw.String(secret), "malformed JSON at byte 1"},
	{domains.JSON, rmw.String(`{"id":"7","` + secret + `":"` + secret), "malformed JSON at byte 26"},
	{domains.JSON, rmw.String(`{"id":"7"} ` + secret), "malformed JSON at byte 12"},
	{domains.JSON, rmw.String(`{"id":"7","title":"` + secret + "\x01" + `"}`), "malformed JSON at byte 26"},
	{domains.JSON, rmw.String(`"` + secret + `"`), "what is stored is not an object"},
	{domains.JSON, rmw.String(`["` + secret + `"]`), "what is stored is not an object"},
	{domains.JSON, rmw.String("null"), "the id of the ticket is empty"},
	{domains.JSON, rmw.String("{}"), "the id of the ticket is empty"},
	{domains.JSON, rmw.String(`{"id":"` + strings.Repeat(secret, 22) + `"}`),
		"the id of the ticket has 132 bytes, at most 128 are permitted"},
	{domains.JSON, rmw.String(`{"id":"7","title":"` + strings.Repeat(secret, 11) + `"}`),
		"the title has 66 bytes, at most 64 are permitted"},
	{domains.JSON, rmw.String(`{"id":"7","size":"` + secret + `"}`), `field "size" is not a number that fits int`},
	{domains.JSON, rmw.String(`{"id":"7","big":-1,"title":"` + secret + `"}`), `field "big" is not a number that fits uint64`},
	{domains.JSON, rmw.String(`{"id":"7","big":18446744073709551616}`), `field "big" is not a number that fits uint64`},
	{domains.JSON, rmw.String(`{"id":"7","done":"` + secret + `"}`), `field "done" is not true or false`},
	{domains.JSON, rmw.String(`{"id":"7","note":"` + secret + `"}`), `field "note" is not an object`},
	{domains.JSON, rmw.String(`{"id":"7","note":{"text":1,"x":"` + secret + `"}}`), `field "note.text" is not a text`},
	{domains.JSON, rmw.String(`{"id":"7","tags":{"` + secret + `":1}}`), `field "tags" is not a list`},
	{domains.JSON, rmw.String(`{"id":"7","parts":{"` + secret + `":{"name":["` + secret + `"]}}}`),
		`field "parts.name" is not a text`},
	{domains.JSON, rmw.String(`{"id":"7","TITLE":"` + secret + `"}`), `a field differs from "title" in case only`},
	{domains.JSON, rmw.String(`{"id":"7","parts":{"` + secret + `":{"Name":"` + secret + `"}}}`),
		`a field differs from "name" in case only`},
	{domains.JSON, rmw.String(`{"id":"7","size":-1,"title":"` + secret + `"}`), "size is negative"},
	{domains.JSON, rmw.String(`{"id":"7","format":2,"title":"` + secret + `"}`), "format 2: this program knows formats up to 1"},
	{domains.JSON, rmw.String(`{"id":"7","format":-1}`), "format -1: this program knows formats up to 1"},
	{domains.JSON, rmw.String(`{"id":"7","applied":[{"id":"` + secret + `"},{"id":"` + secret + `"}]}`),
		"an operation is remembered twice"},
	{domains.JSON, rmw.String(`{"id":"7","applied":[{"number":1}]}`), "a remembered operation has no id"},
	{domains.JSON, rmw.String(`{"id":"7","applied":[` + strings.Repeat(`{},`, 32) + `{}]}`), "33 operations remembered, at most 32 are"},

	{domains.Hash, hash("id", ""), "the id of the ticket is empty"},
	{domains.Hash, hash(secret, secret), "the id of the ticket is empty"},
	{domains.Hash, hash("id", secret+"\xff"), "the id of the ticket is not UTF-8: JSON cannot hold it"},
	{domains.Hash, hash("title", secret+"\xff"), "the title is not UTF-8: JSON cannot hold it"},
	{domains.Hash, hash("size", secret), `field "size": malformed JSON at byte 1`},
	{domains.Hash, hash("size", ""), `field "size": malformed JSON at byte 0`},
	{domains.Hash, hash("size", `"`+secret+`"`), `field "size": what is stored is not a number that fits int`},
	{domains.Hash, hash("size", "-1"), "size is negative"},
	{domains.Hash, hash("big", "1.5"), `field "big": what is stored is not a number that fits uint64`},
	{domains.Hash, hash("due", secret), `field "due": malformed JSON at byte 1`},
	{domains.Hash, hash("done", secret), `field "done": neither 1 nor 0`},
	{domains.Hash, hash("loud", ""), `field "loud": neither 1 nor 0`},
	{domains.Hash, hash("tags", `{"`+secret+`":1}`), `field "tags": what is stored is not a list`},
	{domains.Hash, hash("note", secret), `field "note": malformed JSON at byte 1`},
	{domains.Hash, hash("note", `{"TEXT":"`+secret+`"}`), `field "note": a field differs from "text" in case only`},
	{domains.Hash, hash("part:"+secret, secret), `a field "part:"…: malformed JSON at byte 1`},
	{domains.Hash, hash("part:"+secret, `{"name":1}`), `a field "part:"…: field "name" is not a text`},
	{domains.Hash, hash("vote:"+secret, `"`+secret+`"`), `a field "vote:"…: what is stored is not a number that fits int64`},
	{domains.Hash, hash("format", "2"), "format 2: this program knows formats up to 1"},
	{domains.Hash, hash("version", secret), `field "version": malformed JSON at byte 1`},
	{domains.Hash, hash("applied", secret), `field "applied": malformed JSON at byte 1`},
}

// hash is a ticket's hash with one more field, or another id.
func hash(name, value string) rmw.Value {
	fields := map[string]string{"id": "7"}
	if name == secret {
		clear(fields)
	}
	fields[name] = value
	return rmw.Hash(fields)
}

// A value that cannot be decoded is left as it is. The error names the place and quotes nothing.
func TestUndecodable(t *testing.T) {
	tests := undecodable
	for _, test := range undecodable {
		if test.layout == domains.Hash {
			test.layout = domains.HashByVersion
			tests = append(tests, test)
		}
	}
	for _, test := range tests {
		t.Run(test.layout.String()+"/"+test.says, func(t *testing.T) {
			memory := rmwtest.NewMemory()
			assertUndecodable(t, memory, newTickets(memory, test.layout), test.stored, ": "+test.says)
		})
	}
}

// A value under another entity's key, such as a copy or a backup restored under a wrong name, cannot be decoded. A value
// without an id is that of its key.
func TestWrongStoredID(t *testing.T) {
	everywhere(t, func(t *testing.T, w fixture) {
		codecs := map[string]rmw.Codec[Ticket]{"ours": ticketCodec(w.layout)}
		if w.layout == domains.JSON {
			codecs["their own"] = rmw.JSON[Ticket]()
		}
		for name, codec := range codecs {
			put(t, w.Direct, "7", before(w.layout, map[string]string{"id": `""`, "size": "1"}))
			n, err := keyed(w.Open(), codec).Get(t.Context(), "7")
			require.NoError(t, err)
			assert.Equal(t, "7", n.ID, name)
			other := before(w.layout, map[string]string{"id": `"` + secret + `"`, "size": "1"})
			assertUndecodable(t, w.Direct, keyed(w.Open(), codec), other, `: the key is that of the ticket "7", and the id in the `+
				`document is another: if it was copied, put it under its own key; if the id is wrong, have a Mend empty it`)
		}
	})
}

// A value of the other layout is of a wrong type, not undecodable.
func TestValueOfOtherLayout(t *testing.T) {
	for layout, v := range map[domains.Layout]rmw.Value{
		domains.JSON: rmw.Hash(map[string]string{"id": secret}), domains.Hash: rmw.String(`{"id":"` + secret + `"}`),
	} {
		memory := rmwtest.NewMemory()
		put(t, memory, "7", v)
		for call, err := range everyCall(t, newTickets(memory, layout), "7") {
			require.ErrorIs(t, err, rmw.ErrWrongKind, call)
			requireSilent(t, err)
		}
	}
}

// A change that breaks a rule is an invalid argument, and the error does not quote the change.
func TestInvalidChangeIsNotQuoted(t *testing.T) {
	for name, breaks := range map[string]func(*Ticket){
		"title": func(t *Ticket) { t.Title = strings.Repeat(secret, 11) },
		"utf8":  func(t *Ticket) { t.Title = secret + "\xff" },
		"id":    func(t *Ticket) { t.ID = "" },
		"no id": func(t *Ticket) { t.Applied = append(t.Applied, domains.Applied{}) },
		"a double": func(t *Ticket) {
			t.Applied = append(t.Applied, domains.Applied{ID: secret}, domains.Applied{ID: secret})
		},
		"no JSON": func(t *Ticket) { t.Rate = 1 / zero },
	} {
		for _, layout := range entities.Layouts() {
			_, err := newTickets(rmwtest.NewMemory(), layout).Create(t.Context(), "7", opAt("a"), func(t *Ticket) error {
				t.ID = "7"
				breaks(t)
				return nil
			})
			require.ErrorIs(t, err, rmw.ErrInvalid, name)
			require.NotErrorIs(t, err, rmw.ErrUndecodable, name)
			assert.Nil(t, domains.RefusalOf(err), name)
			requireSilent(t, err)
		}
	}
}

var zero float64

// Stamp is a type whose decoder quotes its input in errors.
type Stamp struct{ text string }

func (s *Stamp) UnmarshalText(text []byte) error { return fmt.Errorf("what is %q?", text) }

type stamped struct {
	domains.Header
	Stamp Stamp `json:"stamp"`
}

func (s *stamped) Check() error { return errors.New(s.Stamp.text) }

// Errors of other packages' decoders are not quoted.
func TestForeignErrorsAreNotQuoted(t *testing.T) {
	text := `"` + secret + `"`
	for layout, v := range map[domains.Layout]rmw.Value{
		domains.JSON: rmw.String(`{"stamp":` + text + `}`),
		domains.Hash: rmw.Hash(map[string]string{"stamp": text}),

		domains.HashByVersion: rmw.Hash(map[string]string{"stamp": text}),
	} {
		err := domains.CodecOf[stamped, *stamped](layout, nil).Decode(v, new(stamped))
		requireSilent(t, err)
		require.ErrorContains(t, err, "the stored value has another form")
	}
}
