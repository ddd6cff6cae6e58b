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

// Config says how patient a Desk is. The zero Config works.
type Config struct {
	// Patience is how long a reservation is left alone before others clear it up.
	// It should be longer than an operation takes on a bad day. Default: 30 s.
	Patience time.Duration
	// FinishTimeout bounds each of the at most two steps that are left once an operation
	// is decided, also if the caller's ctx has ended; and, once the ctx of a Reap or a
	// SignOff has ended, the one update that settles what was decided. Default: 5 s.
	FinishTimeout time.Duration
	// Unfinished, if not nil, is told when that failed: the operation has
	// happened, and the next Reap finishes it. It must be quick and safe for
	// concurrent use.
	Unfinished func(ctx context.Context, sessionID string, err error)
}

// The defaults of [Config].
const (
	DefaultPatience      = 30 * time.Second
	DefaultFinishTimeout = 5 * time.Second
)

// maxAttempts is how often an operation starts again because others were quicker
// between its steps.
const maxAttempts = 8

// Desk works on sessions and agents. It is safe for concurrent use, also of many
// processes.
//
// An error is a refusal of package session, mcc or this one, or is about the store.
// Nothing was decided then, with one exception: after an [rmw.ErrOutcomeUnknown], send
// the same operation again. If that is refused, the first may still have happened, or
// happen: look at the session before it is given to another.
type Desk struct {
	sessions session.Sessions
	agents   mcc.Agents
	cfg      Config
}

// New returns a desk for the sessions and the agents.
func New(sessions session.Sessions, agents mcc.Agents, cfg Config) Desk {
	cfg.Patience = cmp.Or(cfg.Patience, DefaultPatience)
	cfg.FinishTimeout = cmp.Or(cfg.FinishTimeout, DefaultFinishTimeout)
	return Desk{sessions, agents, cfg}
}

// happened reports whether op has happened to the session. What reads before it writes
// has to know: it would take another operation's id for its own.
func happened(op domains.Op, sessionID string, s session.Session) (bool, error) {
	_, done, err := s.Find(op)
	if err != nil {
		err = fmt.Errorf("session %q: %w", sessionID, err)
	}
	return done, err
}

// until is the end of a reservation made at that time.
func (d Desk) until(op domains.Op) time.Time { return op.At.Add(d.cfg.Patience) }

// finish does what is left to do once an operation is decided.
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

// settle brings an agent's slot for a session in line with the session as it was at
// its epoch: who has it holds a slot, who does not has none from before.
//
// An agent who does not exist any more has no slots, and cannot have the session.
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

// waits reports whether a reservation until then is left alone. One that is longer than
// anybody here makes comes from a clock that is ahead.
func (d Desk) waits(until domains.Time, at time.Time) bool {
	now := domains.At(at)
	return now <= until && until <= now.Add(d.cfg.Patience)
}
