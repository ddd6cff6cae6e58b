package session_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/session"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// The limits of a stored session, as the package documents them.
const (
	maxTransfers, maxDeclined = 16, 16
	maxEpoch                  = 1<<53 - 1
	abandonedTTL              = 24 * time.Hour
)

// start is the first time of these tests; later times are minutes after it.
var start = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

func minute(n int) time.Time { return start.Add(time.Duration(n) * time.Minute) }

func at(n int) domains.Time { return domains.At(minute(n)) }

// windows are the ones of the benches' sessions.
var windows = session.Windows{Rate: 60 * time.Minute, Reopen: 30 * time.Minute}

// layouts are all layouts.
func layouts() []domains.Layout {
	return []domains.Layout{domains.JSON, domains.Hash, domains.HashByVersion}
}

// fixture is a store with sessions, in one layout.
type fixture struct {
	*testing.T
	target   rmwtest.Target
	layout   domains.Layout
	sessions session.Sessions
	ops      int
}

// each runs test in all layouts, on the store in memory. TestEveryPath covers the paths.
func each(t *testing.T, test func(b *fixture)) {
	eachWith(t, session.Config{RateWindow: windows.Rate, ReopenWindow: windows.Reopen}, test)
}

func eachWith(t *testing.T, cfg session.Config, test func(b *fixture)) {
	for _, layout := range layouts() {
		t.Run(layout.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := rmwtest.NewMemory()
				cfg.Layout = layout
				target := rmwtest.Target{Open: func() rmw.Store { return m }, Direct: m}
				test(&fixture{T: t, target: target, layout: layout, sessions: session.New(m, cfg)})
			})
		})
	}
}

// onMemory is a fixture over the store in memory, without fake time.
func onMemory(t *testing.T, layout domains.Layout) *fixture {
	m := rmwtest.NewMemory()
	cfg := session.Config{Layout: layout, RateWindow: windows.Rate, ReopenWindow: windows.Reopen}
	target := rmwtest.Target{Open: func() rmw.Store { return m }, Direct: m}
	return &fixture{T: t, target: target, layout: layout, sessions: session.New(m, cfg)}
}

// op is an operation of its own that happens n minutes after the start.
func (b *fixture) op(n int) domains.Op {
	b.ops++
	return domains.Op{ID: fmt.Sprint("op-", b.ops), At: minute(n)}
}

// edit is Sessions.Edit; it fails the test on an error.
func (b *fixture) edit(n int, change func(s *session.Session, at domains.Time) error) session.Session {
	b.Helper()
	s, err := b.sessions.Edit(b.Context(), "s", b.op(n), func(s *session.Session) error { return change(s, at(n)) })
	require.NoError(b, err)
	return s
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
	end := func() error { return s.Close(at(4), session.ByAgent, windows) }
	steps := []func() error{
		func() error { return s.Assign(at(1), "ann", 0) },
		func() error { return s.Reply(at(2), "ann") },
		func() error { return s.Hold(at(3), "ann") },
	}
	if status == session.Closed {
		steps[2] = end
	}
	for _, step := range steps {
		if s.Status != status {
			require.NoError(t, step())
		}
	}
	require.Equal(t, status, s.Status)
	return s
}

// in stores a session, "s", that is in a state.
func (b *fixture) in(status session.Status) session.Session {
	b.Helper()
	s := made(b, status)
	v, err := domains.CodecOf[session.Session, *session.Session](b.layout, nil).Encode(&s, rmw.Value{})
	require.NoError(b, err)
	require.NoError(b, b.target.Direct.Set(b.Context(), "session:s", v, rmw.NoTTL))
	return s
}

// open makes the session "s", as a service would.
func (b *fixture) open() session.Session {
	b.Helper()
	s, err := b.sessions.Create(b.Context(), "s", b.op(0), session.Session{Status: session.Queued})
	require.NoError(b, err)
	return s
}

// get returns the session "s".
func (b *fixture) get() session.Session {
	b.Helper()
	s, err := b.sessions.Get(b.Context(), "s")
	require.NoError(b, err)
	return s
}

// look returns what lies under a key, and how long it has left.
func (b *fixture) look(key string) (rmw.Value, time.Duration) {
	b.Helper()
	v, ttl, err := b.target.Direct.Get(b.Context(), key)
	require.NoError(b, err)
	return v, ttl
}

// put stores a document as another service would have: as it is, or as the hash with the same fields.
func (b *fixture) put(document string) {
	b.Helper()
	require.NoError(b, b.target.Direct.Set(b.Context(), "session:s", stored(b, b.layout, document), rmw.NoTTL))
}

// stored is a document as it lies in the store.
func stored(t testing.TB, layout domains.Layout, document string) rmw.Value {
	t.Helper()
	if layout == domains.JSON {
		return rmw.String(document)
	}
	var fields map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(document), &fields))
	hash := map[string]string{}
	for name, raw := range fields {
		hash[name] = string(raw)
		if raw[0] == '"' {
			var text string
			require.NoError(t, json.Unmarshal(raw, &text))
			hash[name] = text
		}
	}
	return rmw.Hash(hash)
}

// untouched asserts that call changes neither the value nor the expiry of the key.
func (b *fixture) untouched(key, what string, call func()) {
	b.Helper()
	value, ttl := b.look(key)
	call()
	after, left := b.look(key)
	assert.True(b, value.Equal(after), "%s: something was written", what)
	assert.Equal(b, ttl, left, "%s: the expiry changed", what)
}
