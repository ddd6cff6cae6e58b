package desk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/mcc"
	"github.com/unwatch/unwatch/domains/session"
	"github.com/unwatch/unwatch/rmw"
)

// Config configures a [Desk]. The zero Config works.
type Config struct {
	// Patience is the time for which a reservation is left alone before other processes clear it. It should
	// exceed the longest duration of an operation. Default: 30 s.
	Patience time.Duration
	// FinishTimeout bounds each of the at most two steps after a commit; these steps ignore the end of the
	// caller's ctx. It also bounds the last update of a Reap or SignOff whose ctx has ended. Default: 5 s.
	FinishTimeout time.Duration
	// Unfinished, if not nil, is called with the error of a step after a commit. The operation has happened,
	// and the next Reap finishes it. Unfinished must be quick and safe for concurrent use.
	Unfinished func(ctx context.Context, sessionID string, err error)
}

// The defaults of [Config].
const (
	DefaultPatience      = 30 * time.Second
	DefaultFinishTimeout = 5 * time.Second
)

// maxAttempts limits the attempts of an operation that loses races between its steps.
const maxAttempts = 8

// Desk changes sessions together with agents and visitors. It is safe for concurrent use, also by many
// processes, and needs no Close.
//
// An error is a refusal of package session, mcc or desk, or is about the store. After an error the operation
// has not happened, except after an [rmw.ErrOutcomeUnknown]: send the same operation again. If the retry is
// refused, the first attempt may still happen or have happened: read the session before you give it to another
// agent.
type Desk struct {
	sessions session.Sessions
	agents   mcc.Agents
	cfg      Config
}

// New returns a Desk over the sessions and the agents.
func New(sessions session.Sessions, agents mcc.Agents, cfg Config) Desk {
	cfg.Patience = cmp.Or(cfg.Patience, DefaultPatience)
	cfg.FinishTimeout = cmp.Or(cfg.FinishTimeout, DefaultFinishTimeout)
	return Desk{sessions, agents, cfg}
}

// happened reports whether op has happened to the session. It returns an rmw.ErrInvalid if another operation
// used the id.
func happened(op domains.Op, sessionID string, s session.Session) (bool, error) {
	_, done, err := s.Find(op)
	if err != nil {
		err = fmt.Errorf("session %q: %w", sessionID, err)
	}
	return done, err
}

// until returns the end of the operation's reservation.
func (d Desk) until(op domains.Op) time.Time { return op.At.Add(d.cfg.Patience) }

// finish runs the steps after a commit.
func (d Desk) finish(ctx context.Context, sessionID string, steps ...func(context.Context) error) {
	ctx = context.WithoutCancel(ctx)
	for _, step := range steps {
		limited, cancel := context.WithTimeout(ctx, d.cfg.FinishTimeout)
		err := step(limited)
		cancel()
		if err != nil && d.cfg.Unfinished != nil {
			d.cfg.Unfinished(ctx, sessionID, err)
		}
	}
}

// settle returns the step that confirms the agent's slot for a session if the agent has the session, and else
// releases it. If the agent was removed, the step requeues the session. An empty agentID does nothing.
func (d Desk) settle(at time.Time, agentID, sessionID string, s session.Session) func(context.Context) error {
	return func(ctx context.Context) error {
		var err error
		switch {
		case agentID == "":
		case s.AgentID == agentID:
			_, err = d.agents.Confirm(ctx, agentID, at, sessionID, s.Epoch)
			if errors.Is(err, mcc.ErrNoAgent) {
				_, err = d.sessions.Settle(ctx, sessionID, at, takeBack(at, agentID, "the agent is gone"))
			}
		default:
			_, err = d.agents.Release(ctx, agentID, at, sessionID, s.Epoch)
		}
		return ignore(err, mcc.ErrNoAgent)
	}
}

// takeBack requeues a session if the agent has it.
func takeBack(at time.Time, agentID, reason string) func(*session.Session) error {
	return func(s *session.Session) error {
		if s.AgentID != agentID {
			return rmw.Keep
		}
		return s.Requeue(domains.At(at), agentID, "", "", reason)
	}
}

// waits reports whether a reservation is left alone. A reservation longer than Patience comes from a clock that
// is ahead, and does not count.
func (d Desk) waits(until domains.Time, at time.Time) bool {
	now := domains.At(at)
	return now <= until && until <= now.Add(d.cfg.Patience)
}
