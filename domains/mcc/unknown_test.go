package mcc_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/mcc"
	"github.com/unwatch/unwatch/rmw"
)

// foreign is what another service has put beside the fields that are known here: more
// digits than a float64 has, and text that HTML would escape.
const foreign = `{"list":[1.50,12345678901234567890],"text":"<a&b>\u2028","null":null}`

// withForeign is an agent after another service has been at it.
const withForeign = `{"id":"a","status":"online","accepting":true,"version":3,"format":1,"updated_at":5,"foreign":` + foreign + `,
	"slots":{"s":{"epoch":5,"state":"reserved","until":9,"foreign":` + foreign + `},
		"other":{"epoch":1,"state":"held","forced":true,"foreign":` + foreign + `}}}`

// object returns the fields of a JSON object.
func object(t testing.TB, text string) map[string]json.RawMessage {
	t.Helper()
	var fields map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(text), &fields), "%q", text)
	return fields
}

// topField and slotField return what is stored: at the top, and of a slot.
func topField(t testing.TB, v rmw.Value, name string) string {
	t.Helper()
	if v.Kind() == rmw.KindHash {
		text, _ := v.Field(name)
		return text
	}
	return string(object(t, v.Text())[name])
}

func slotField(t testing.TB, v rmw.Value, id, name string) string {
	t.Helper()
	if v.Kind() == rmw.KindHash {
		text, _ := v.Field("slot:" + id)
		return string(object(t, text)[name])
	}
	return string(object(t, string(object(t, string(object(t, v.Text())["slots"]))[id]))[name])
}

// canonical is a JSON text with all escaped alike and without blanks; numbers keep
// their digits.
func canonical(t testing.TB, text string) string {
	t.Helper()
	b, err := json.Marshal(json.RawMessage(text))
	require.NoError(t, err, "%q", text)
	return string(b)
}

// Operations keep what another service has stored, within the slots, too.
func TestUnknownFields(t *testing.T) {
	for op, change := range map[string]func(a *mcc.Agent) error{
		"SetStatus":     func(a *mcc.Agent) error { return a.SetStatus(at(1), mcc.Busy) },
		"Reserve":       func(a *mcc.Agent) error { return a.Reserve(at(1), "new", 1, at(2), 9, false) },
		"Reserve later": func(a *mcc.Agent) error { return a.Reserve(at(1), "s", 6, at(2), 9, false) },
		"Reserve again": func(a *mcc.Agent) error { return a.Reserve(at(1), "s", 5, at(2), 9, false) },
		"Confirm":       func(a *mcc.Agent) error { return a.Confirm(at(1), "s", 6) },
	} {
		each(t, mcc.Config{}, func(b *bench) {
			b.put(withForeign)
			a, err := b.agents.Edit(b.Context(), "a", b.op(1), change)
			require.NoError(b, err)
			v, _ := b.look("agent:a")
			want := canonical(b, foreign)
			assert.Equal(b, want, canonical(b, topField(b, v, "foreign")), op)
			assert.Equal(b, want, canonical(b, slotField(b, v, "s", "foreign")), op)
			assert.Equal(b, want, canonical(b, slotField(b, v, "other", "foreign")), op)
			_, ok := a.Slots["s"].Unknown.Field("foreign")
			assert.True(b, ok)
		})
	}
}

// A slot that is released is gone with all that lay in it; the others stay.
func TestUnknownIsReleased(t *testing.T) {
	each(t, mcc.Config{}, func(b *bench) {
		b.put(withForeign)
		_, err := b.agents.Release(b.Context(), "a", minute(1), "s", 6)
		require.NoError(b, err)
		v, _ := b.look("agent:a")
		assert.Equal(b, canonical(b, foreign), canonical(b, slotField(b, v, "other", "foreign")))
		assert.Equal(b, canonical(b, foreign), canonical(b, topField(b, v, "foreign")))
		if v.Kind() == rmw.KindHash {
			_, ok := v.Field("slot:s")
			assert.False(b, ok)
		}
		assert.Len(b, b.get().Slots, 1)
	})
}

// A new agent takes along what whoever makes it has put beside the known fields.
func TestUnknownInCreate(t *testing.T) {
	var info mcc.Agent
	require.NoError(t, json.Unmarshal([]byte(withForeign), &info))
	b := onMemory(t, mcc.Config{})
	_, err := b.agents.Create(b.Context(), "a", b.op(0), info)
	require.NoError(b, err)
	v, _ := b.look("agent:a")
	assert.Equal(b, canonical(b, foreign), canonical(b, topField(b, v, "foreign")))
}

// Operations work on an agent without a format, a version or times, as a service stores
// it that knows next to nothing of what is known here.
func TestLegacyDocuments(t *testing.T) {
	for _, status := range statuses() {
		each(t, mcc.Config{Max: 1}, func(b *bench) {
			b.put(`{"id":"a","status":"` + string(status) + `","slots":{"s":{"epoch":0,"state":"reserved"}}}`)
			before := b.get()
			assert.Zero(b, before.Header)
			assert.Equal(b, 1, before.Load())
			for i, change := range []func(a *mcc.Agent) error{
				func(a *mcc.Agent) error { return a.Confirm(at(2), "s", 0) },
				func(a *mcc.Agent) error { return a.SetAccepting(at(1), true) },
				func(a *mcc.Agent) error { return a.Release(at(3), "s", 1) },
				func(a *mcc.Agent) error { return a.SignOff(at(4)) },
			} {
				a, err := b.agents.Edit(b.Context(), "a", b.op(i), change)
				require.NoError(b, err)
				assert.Equal(b, uint64(i+1), a.Version)
				assert.Equal(b, domains.Format, a.Format)
				assert.Equal(b, at(max(2, i+1)), a.UpdatedAt, "times do not run backwards")
			}
		})
	}
}
