package session_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/session"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

var (
	long    = strings.Repeat("x", 5000)
	garbled = "\xff"
)

// Each refusal has a code, which a service may show. When each is met, the model says.
func TestCodes(t *testing.T) {
	for code, r := range map[string]*domains.Refusal{
		"no_session": session.ErrNoSession, "session_exists": session.ErrSessionExists, "session_closed": session.ErrClosed,
		"not_now": session.ErrNotNow, "not_holder": session.ErrNotHolder, "moved_on": session.ErrMovedOn,
		"same_agent": session.ErrSameAgent, "not_idle": session.ErrNotIdle, "session_open": session.ErrNotClosed,
		"rated": session.ErrRated, "rate_late": session.ErrRateLate, "score": session.ErrScore, "reopen_late": session.ErrReopenLate,
	} {
		assert.Equal(t, code, r.Code())
	}
}

// Arguments that cannot be used are refused before they are stored, and leave the session as it was.
func TestUnusableArguments(t *testing.T) {
	type change = func(s *session.Session) error
	refused := func(name string, from session.Status, do change) {
		s := made(t, from)
		before := s
		require.ErrorIs(t, do(&s), rmw.ErrInvalid, name)
		assert.Equal(t, before, s, name)
	}
	for _, bad := range []string{long, garbled} {
		for name, do := range map[string]change{
			"Transfer to":     func(s *session.Session) error { return s.Transfer(at(9), bad, s.Epoch, "", "") },
			"Transfer by":     func(s *session.Session) error { return s.Transfer(at(9), "ben", s.Epoch, bad, "") },
			"Transfer reason": func(s *session.Session) error { return s.Transfer(at(9), "ben", s.Epoch, "", bad) },
			"Requeue by":      func(s *session.Session) error { return s.Requeue(at(9), "", "", bad, "") },
			"Requeue reason":  func(s *session.Session) error { return s.Requeue(at(9), "", "", "", bad) },
			"Requeue to":      func(s *session.Session) error { return s.Requeue(at(9), "", bad, "", "") },
			"Close reason":    func(s *session.Session) error { return s.Close(at(9), session.Reason(bad), windows) },
			"SetMerchant":     func(s *session.Session) error { return s.SetMerchant(at(9), bad) },
		} {
			refused(name, session.Active, do)
		}
		refused("Escalate", session.Bot, func(s *session.Session) error { return s.Escalate(at(9), bad) })
		refused("Assign", session.Queued, func(s *session.Session) error { return s.Assign(at(9), bad, s.Epoch) })
		refused("comment", session.Closed, func(s *session.Session) error { return s.Rate(at(9), session.Rating{Score: 5, Comment: bad}) })
	}
	refused("no reason", session.Active, func(s *session.Session) error { return s.Close(at(9), "", windows) })
	for _, epoch := range []uint64{maxEpoch, 1<<64 - 1} {
		refused("no later epoch", session.Queued, func(s *session.Session) error { return s.Fence(at(9), epoch) })
	}

	m := rmwtest.NewMemory()
	sessions := session.New(m, session.Config{})
	for _, status := range []session.Status{"", session.Assigned, session.Active, session.OnHold, session.Closed, "new"} {
		_, err := sessions.Create(t.Context(), "s", domains.NewOp(minute(1)), session.Session{Status: status})
		require.ErrorIs(t, err, rmw.ErrInvalid, status)
	}
	_, err := sessions.Create(t.Context(), "s", domains.NewOp(minute(1)), session.Session{Status: session.Bot, TenantID: long})
	require.ErrorIs(t, err, rmw.ErrInvalid)
	_, err = sessions.Abandon(t.Context(), "s", minute(1), garbled)
	require.ErrorIs(t, err, rmw.ErrInvalid)
	for _, op := range []domains.Op{{At: minute(9)}, {ID: "x"}, {ID: long, At: minute(9)}, {ID: "x", At: time.Unix(-1, 0)}} {
		require.ErrorIs(t, sessions.Validate("s", op, session.Session{Status: session.Bot}), rmw.ErrInvalid)
	}
	for _, id := range []string{"", long, garbled} {
		_, err = sessions.ReserveVisitor(t.Context(), "v", minute(1), session.Visitor{}, id, 0, minute(2))
		require.ErrorIs(t, err, rmw.ErrInvalid)
		_, err = sessions.Visitor(t.Context(), id)
		require.ErrorIs(t, err, rmw.ErrInvalid)
	}
	for _, key := range []string{"session:s", "visitor:v"} {
		v, _, err := m.Get(t.Context(), key)
		require.NoError(t, err)
		assert.False(t, v.Exists())
	}
}

// An operation on a session that does not exist is refused, and creates none.
func TestNoSession(t *testing.T) {
	m := rmwtest.NewMemory()
	sessions := session.New(m, session.Config{})
	for name, call := range map[string]func() error{
		"Get":   func() error { _, err := sessions.Get(t.Context(), "s"); return err },
		"Edit":  func() error { _, err := sessions.Reply(t.Context(), "s", domains.NewOp(minute(1)), "ann"); return err },
		"Fence": func() error { _, err := sessions.Fence(t.Context(), "s", minute(1), 0); return err },
		"Settle": func() error {
			_, err := sessions.Settle(t.Context(), "s", minute(1), func(*session.Session) error { return nil })
			return err
		},
	} {
		err := call()
		require.ErrorIs(t, err, session.ErrNoSession, name)
		require.EqualError(t, err, `session "s": there is no such session`)
	}
	v, _, err := m.Get(t.Context(), "session:s")
	require.NoError(t, err)
	assert.False(t, v.Exists())
	_, err = sessions.Create(t.Context(), "s", domains.NewOp(minute(1)), session.Session{Status: session.Queued})
	require.NoError(t, err)
	_, err = sessions.Create(t.Context(), "s", domains.NewOp(minute(2)), session.Session{Status: session.Queued})
	require.ErrorIs(t, err, session.ErrSessionExists)
}
