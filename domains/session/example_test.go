package session_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/session"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// A conversation from the queue to the rating. The previous agent is refused.
func Example() {
	ctx := context.Background()
	nine := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	op := func(minutes int) domains.Op { return domains.NewOp(nine.Add(time.Duration(minutes) * time.Minute)) }

	store := rmwtest.NewMemory() // cas.New(...) or lockupdate.New(...)
	sessions := session.New(store, session.Config{RateWindow: time.Hour})

	s, err := sessions.Create(ctx, "42", op(0), session.Session{VisitorID: "v", Status: session.Queued})
	fmt.Println(s.Status, err)

	// desk.Assign also takes a slot of the agent.
	_, err = sessions.Edit(ctx, "42", op(1), func(s *session.Session) error {
		return s.Assign(op(1).Time(), "ann", s.Epoch)
	})
	fmt.Println("assigned:", err)
	s, _ = sessions.Edit(ctx, "42", op(2), func(s *session.Session) error {
		return s.Transfer(op(2).Time(), "ben", s.Epoch, "ann", "knows the merchant")
	})
	fmt.Println(s.Status, s.AgentID, "at epoch", s.Epoch)

	_, err = sessions.Reply(ctx, "42", op(3), "ann")
	fmt.Println(errors.Is(err, session.ErrNotHolder), err)
	s, err = sessions.Reply(ctx, "42", op(4), "ben")
	fmt.Println(s.Status, "waited", s.Waited(nine), "first answer after", s.FirstResponse(), err)

	_, _ = sessions.Edit(ctx, "42", op(9), func(s *session.Session) error {
		return s.Close(op(9).Time(), session.ByVisitor, sessions.Windows())
	})
	_, err = sessions.Rate(ctx, "42", op(10), 5, "quick")
	fmt.Println("rated:", err)
	_, err = sessions.Rate(ctx, "42", op(11), 1, "changed my mind")
	fmt.Println(err)
	// Output:
	// queued <nil>
	// assigned: <nil>
	// assigned ben at epoch 2
	// true session "42": the session is not with that agent
	// active waited 1m0s first answer after 4m0s <nil>
	// rated: <nil>
	// session "42": the session has been rated
}

// A service has noted neither when nor why it closed a session, and left its agent in it.
func ExampleConfig_mend() {
	ctx, store := context.Background(), rmwtest.NewMemory()
	_ = store.Set(ctx, "session:42", rmw.String(
		`{"id":"42","status":"closed","agent_id":"ann","created_at":1000,"last_agent_at":5000}`), rmw.NoTTL)

	sessions := session.New(store, session.Config{Mend: closedOnes})
	s, err := sessions.Get(ctx, "42")
	fmt.Println(s.CloseReason, s.ClosedAt, s.LastAgentID, err)
	// Output:
	// system 1970-01-01T00:00:05.000Z ann <nil>
}

// closedOnes completes the fields of closed sessions.
func closedOnes(s *session.Session) {
	if s.Status != session.Closed {
		return
	}
	if s.ClosedAt == 0 {
		s.ClosedAt = max(s.CreatedAt, s.LastVisitorAt, s.LastAgentAt, 1)
	}
	s.CloseReason = cmp.Or(s.CloseReason, session.BySystem)
	s.LastAgentID, s.AgentID = cmp.Or(s.AgentID, s.LastAgentID), ""
}
