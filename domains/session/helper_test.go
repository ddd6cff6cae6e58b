package session_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/session"
	"github.com/unwatch/unwatch/internal/testing/entities"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// The limits of a stored session, as the package documents them.
const (
	maxEpoch = 1<<53 - 1
	// maxTime is the end of the year 9999.
	maxTime domains.Time = 253402300799999
)

var long = strings.Repeat("x", 4097)

// start is the first time of these tests; later times are minutes after it.
var start = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

func minute(n int) time.Time { return start.Add(time.Duration(n) * time.Minute) }

func at(n int) domains.Time { return domains.At(minute(n)) }

// op is an operation that happens n minutes after the start.
func op(id string, n int) domains.Op { return domains.Op{ID: id, At: minute(n)} }

// fixture is a store with sessions, in one layout.
type fixture struct {
	*testing.T
	direct   rmwtest.Direct
	layout   domains.Layout
	sessions session.Sessions
}

// each runs test in all layouts, on the store in memory.
func each(t *testing.T, cfg session.Config, test func(b *fixture)) {
	for _, layout := range entities.Layouts() {
		t.Run(layout.String(), func(t *testing.T) {
			m := rmwtest.NewMemory()
			cfg.Layout = layout
			test(&fixture{T: t, direct: m, layout: layout, sessions: session.New(m, cfg)})
		})
	}
}

// made returns a session in a state: queued at minute 0, Ann's at 1, answered at 2, on hold at 3. A closed one
// was active, and was closed at 4.
func made(t testing.TB, status session.Status) session.Session {
	t.Helper()
	s := session.Session{
		Header: domains.Header{Format: 1, Version: 9, Applied: []domains.Applied{{ID: "before"}}},
		ID:     "s", TenantID: "t", VisitorID: "v", RoomID: "r", QueueID: "q",
		Status: session.Queued, CreatedAt: at(0), QueuedAt: at(0), UpdatedAt: at(0),
	}
	if status == session.Bot {
		s.Status, s.QueuedAt = session.Bot, 0
	}
	steps := []func() error{
		func() error { return s.Assign(at(1), "ann", 0) },
		func() error { return s.Reply(at(2), "ann") },
		func() error { return s.Hold(at(3), "ann") },
	}
	if status == session.Closed {
		steps[2] = func() error { return s.Close(at(4), session.ByAgent, session.Windows{Rate: time.Hour}) }
	}
	for _, step := range steps {
		if s.Status != status {
			require.NoError(t, step())
		}
	}
	require.Equal(t, status, s.Status)
	return s
}

// get returns the session "s".
func (b *fixture) get() session.Session {
	b.Helper()
	s, err := b.sessions.Get(b.Context(), "s")
	require.NoError(b, err)
	return s
}

// look returns the stored value of a key.
func (b *fixture) look(key string) rmw.Value {
	b.Helper()
	v, _, err := b.direct.Get(b.Context(), key)
	require.NoError(b, err)
	return v
}

// put stores a document as another service would have: as it is, or as the hash with the same fields.
func (b *fixture) put(key, document string) {
	b.Helper()
	require.NoError(b, b.direct.Set(b.Context(), key, stored(b, b.layout, document), rmw.NoTTL))
}

// stored is a document as it lies in the store.
func stored(t testing.TB, layout domains.Layout, document string) rmw.Value {
	return entities.Stored(t, layout, document, "", "")
}
