package session_test

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/session"
	"github.com/unwatch/unwatch/internal/testing/entities"
	"github.com/unwatch/unwatch/internal/testing/paths"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// Any sequence of calls leaves the entry that the documents of Visitor and of its methods say. A call that changes nothing
// writes nothing. The entry never expires, whatever sessions do.
func TestVisitorMatchesModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx, m := context.Background(), rmwtest.NewMemory()
		layout := rapid.SampledFrom(entities.Layouts()).Draw(t, "layout")
		prefix := rapid.SampledFrom([]string{"", "w:"}).Draw(t, "prefix")
		key := cmp.Or(prefix, "visitor:") + "v"
		sessions := session.New(m, session.Config{
			Layout: layout, TTL: time.Hour, ClosedTTL: time.Minute,
			VisitorPrefix: prefix, Codec: rmw.JSON[session.Session](), // which is not that of the entries
		})
		seen := []session.Visitor{{}}
		for range rapid.SampledFrom([]int{10, 60}).Draw(t, "calls") {
			before, _, _ := m.Get(ctx, key)
			entry := seen[len(seen)-1]
			want := entry
			id := rapid.SampledFrom([]string{"s1", "s1", "s2", "s2", ""}).Draw(t, "session")
			epoch := uint64(rapid.IntRange(0, 3).Draw(t, "epoch"))
			switch rapid.IntRange(0, 3).Draw(t, "call") {
			case 0, 1:
				was := rapid.SampledFrom([]session.Visitor{entry, entry, rapid.SampledFrom(seen).Draw(t, "earlier")}).Draw(t, "seen")
				if rapid.Bool().Draw(t, "of the same version") { // which restarts with each entry
					same := slices.DeleteFunc(slices.Clone(seen), func(v session.Visitor) bool { return v.Version != entry.Version })
					was = rapid.SampledFrom(same).Draw(t, "seen")
				}
				got, err := sessions.ReserveVisitor(ctx, "v", minute(1), was, id, epoch, minute(2))
				if !assert.ObjectsAreEqual(was, entry) {
					require.ErrorIs(t, err, session.ErrMovedOn)
					break
				}
				if id == "" {
					require.ErrorIs(t, err, rmw.ErrInvalid)
					break
				}
				want = session.Visitor{
					Header: domains.Header{Format: 1, Version: entry.Version + 1}, ID: "v", SessionID: id, Epoch: epoch,
					State: session.Reserved, Until: at(2),
				}
				require.Equal(t, want, got)
			case 2:
				require.NoError(t, sessions.ConfirmVisitor(ctx, "v", minute(1), id))
				if entry.SessionID == id && entry.State == session.Reserved {
					want.Version, want.State, want.Until = entry.Version+1, session.Held, 0
				}
			case 3:
				require.NoError(t, sessions.ReleaseVisitor(ctx, "v", minute(1), id, epoch))
				if entry.SessionID == id && entry.Epoch < epoch {
					want = session.Visitor{}
				}
			}
			got, err := sessions.Visitor(ctx, "v")
			require.NoError(t, err)
			require.Equal(t, want, got)
			after, ttl, _ := m.Get(ctx, key)
			require.Equal(t, want.ID != "", after.Exists())
			require.Equal(t, assert.ObjectsAreEqual(entry, want), before.Equal(after))
			require.True(t, !after.Exists() || ttl == rmw.NoTTL)
			require.True(t, !after.Exists() || (after.Kind() == rmw.KindString) == (layout == domains.JSON))
			seen = append(seen, got)
		}
	})
}

// An entry that has gone and come back as another session's while a process confirms the first, at whatever
// command: the other is not confirmed, although its version is the same.
func TestVisitorReplacedDuringReserve(t *testing.T) {
	paths.Each(t, func(t *testing.T, target rmwtest.Target) {
		ctx, sessions := t.Context(), session.New(target.Open(), session.Config{Layout: domains.HashByVersion})
		reserve := func(id string) session.Visitor {
			v, err := sessions.ReserveVisitor(ctx, "v", minute(1), session.Visitor{}, id, 0, minute(2))
			require.NoError(t, err)
			return v
		}
		release := func(id string) { require.NoError(t, sessions.ReleaseVisitor(ctx, "v", minute(1), id, 1)) }
		for n := range 8 { // commands: a confirmation takes fewer
			other := reserve("s2")
			replacement, _, err := target.Direct.Get(ctx, "visitor:v")
			require.NoError(t, err)
			release("s2")
			require.Equal(t, reserve("s1").Version, other.Version)
			stop := target.Faults.Arm(n+1, rmwtest.Fault{Do: func() {
				assert.NoError(t, target.Direct.Set(ctx, "visitor:v", replacement, rmw.NoTTL))
			}})
			require.NoError(t, sessions.ConfirmVisitor(ctx, "v", minute(1), "s1"))
			synctest.Wait() // also for commands after the answer
			stop()
			left, err := sessions.Visitor(ctx, "v")
			require.NoError(t, err)
			if left.SessionID == "s2" {
				assert.Equal(t, other, left, "replaced at command %d", n+1)
			} else {
				assert.Equal(t, session.Held, left.State)
			}
			release("s1")
			release("s2")
		}
	})
}

// The rules of an entry of the index.
func TestCheckVisitor(t *testing.T) {
	entities.AssertBroken[session.Visitor](t, `{"id":"v","session_id":"s","state":"reserved","until":1}`, map[string][]string{
		"the id of the visitor":               {`{"id":""}`, `{"id":"LONG"}`},
		"the id of the session":               {`{"session_id":""}`, `{"session_id":"LONG"}`},
		"an entry is reserved or held":        {`{"state":null}`, `{"state":"gone"}`},
		"the epoch is above 9007199254740991": {`{"epoch":9007199254740992}`},
		"a time is before 1970 or after 9999": {`{"until":-1}`, `{"until":253402300800000}`},
	})
}

// The stored form of an entry is a contract with other services, whose fields are kept, also when the entry changes.
func TestWireFormatOfVisitor(t *testing.T) {
	const entry = `{"id":"v","session_id":"s1","epoch":3,"state":"reserved","until":9,"foreign":` + entities.Foreign + `}`
	entities.WireFormat(t, entry, func(v session.Visitor) {
		assert.Equal(t, session.Visitor{
			ID: "v", SessionID: "s1", Epoch: 3, State: session.Reserved, Until: 9, Unknown: v.Unknown,
		}, v)
	})
	stored[session.Visitor](t, "visitor:v", entry, func(t *testing.T, m *rmwtest.Memory, sessions session.Sessions) {
		v, err := sessions.Visitor(t.Context(), "v")
		require.NoError(t, err)
		_, err = sessions.ReserveVisitor(t.Context(), "v", minute(1), v, "s2", 3, minute(2))
		require.NoError(t, err)
		next, _, err := m.Get(t.Context(), "visitor:v")
		require.NoError(t, err)
		field, _ := next.Field("foreign")
		assert.Contains(t, next.Text()+field, entities.Foreign)
	})
}

// A stored visitor keeps the rules and accepts operations, or is undecodable.
func FuzzDecodeVisitor(f *testing.F) {
	entities.Seed[session.Visitor](f, `{"id":"v","session_id":"s","state":"held"}`,
		`{"id":"v","session_id":"s","state":"reserved","until":253402300799999,"epoch":9007199254740991,"foreign":`+entities.Foreign+`}`,
		`{"id":"v","session_id":"s","state":"reserved","format":1,"version":3,"applied":[{"id":"x"}],"State":1}`)
	get := func(ctx context.Context, store rmw.Store, layout domains.Layout) (session.Visitor, error) {
		return session.New(store, session.Config{Layout: layout}).Visitor(ctx, "v")
	}
	entities.Fuzz(f, "visitor:v", get, func(t *testing.T, layout domains.Layout, v session.Visitor, cur rmw.Value) {
		m := rmwtest.NewMemory()
		require.NoError(t, m.Set(t.Context(), "visitor:v", cur, rmw.NoTTL))
		sessions := session.New(m, session.Config{Layout: layout})
		_, err := sessions.ReserveVisitor(t.Context(), "v", minute(1), session.Visitor{}, "s2", v.Epoch, minute(1))
		require.ErrorIs(t, err, session.ErrMovedOn)
		require.NoError(t, sessions.ConfirmVisitor(t.Context(), "v", minute(1), v.SessionID))
		v, err = sessions.Visitor(t.Context(), "v")
		require.NoError(t, err)
		require.Equal(t, session.Held, v.State)
		v, err = sessions.ReserveVisitor(t.Context(), "v", minute(1), v, "s2", v.Epoch, minute(1))
		require.NoError(t, err)
		require.NoError(t, sessions.ReleaseVisitor(t.Context(), "v", minute(1), "s2", v.Epoch+1))
		v, err = sessions.Visitor(t.Context(), "v")
		require.NoError(t, err)
		require.Zero(t, v)
	})
}
