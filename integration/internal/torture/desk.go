package torture

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/desk"
	"github.com/unwatch/unwatch/domains/mcc"
	"github.com/unwatch/unwatch/domains/session"
	"github.com/unwatch/unwatch/rmw"
)

// The size of the desk.
const (
	deskAgents    = 3
	deskSessions  = 8
	slotsPerAgent = 3
	deskPatience  = 4 * lease
)

// deskLoad is the desk workload: a desk with its agents and sessions.
type deskLoad struct {
	desk     desk.Desk
	sessions session.Sessions
	agents   mcc.Agents
}

func newDeskLoad(store rmw.Store) deskLoad {
	sessions := session.New(store, session.Config{
		Prefix: keyPrefix + "session:", VisitorPrefix: keyPrefix + "visitor:", ReopenWindow: 24 * time.Hour,
	})
	agents := mcc.New(store, mcc.Config{Prefix: keyPrefix + "agent:", Max: slotsPerAgent})
	return deskLoad{desk.New(sessions, agents, desk.Config{Patience: deskPatience}), sessions, agents}
}

func agentName(i int) string   { return fmt.Sprint("a", i) }
func sessionName(i int) string { return fmt.Sprint("s", i) }

// populate creates online agents and queued sessions.
func (o deskLoad) populate(ctx context.Context) error {
	var errs []error
	for i := range deskAgents {
		_, err := o.agents.Create(ctx, agentName(i), domains.NewOp(time.Now()), mcc.Agent{})
		errs = append(errs, err)
		_, err = o.agents.SetStatus(ctx, agentName(i), domains.NewOp(time.Now()), mcc.Online)
		errs = append(errs, err)
	}
	for i := range deskSessions {
		info := session.Session{VisitorID: "of-" + sessionName(i), Status: session.Queued}
		_, err := o.desk.Open(ctx, domains.NewOp(time.Now()), sessionName(i), info)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Decision records the assignment of a session to an agent, as reported to the caller.
type Decision struct {
	Session string
	Epoch   uint64
	Agent   string
}

// serve is one random step at the desk.
func (w *worker) serve() Outcome {
	o := newDeskLoad(w.store.(rmw.Store))
	ctx, cancel := w.limited()
	defer cancel()
	op := domains.NewOp(time.Now())
	id, agent := sessionName(w.rng.IntN(deskSessions)), agentName(w.rng.IntN(deskAgents))
	var s session.Session
	var err error
	given := false
	switch n := w.rng.IntN(100); {
	case n < 40:
		s, err = o.desk.Assign(ctx, op, id, agent)
		given = err == nil
	case n < 55:
		s, err = o.desk.Transfer(ctx, op, id, desk.TransferTo{AgentID: agent})
		given = err == nil
	case n < 65:
		_, err = o.desk.Requeue(ctx, op, id, desk.ToQueue{})
	case n < 70:
		_, err = o.desk.Decline(ctx, op, id, agent)
	case n < 80:
		_, err = o.desk.Close(ctx, op, id, session.ByAgent)
	case n < 90:
		_, err = o.desk.Reopen(ctx, op, id)
	case n < 92:
		_, err = o.desk.SignOff(ctx, op, agent)
	case n < 95:
		_, err = o.agents.SetStatus(ctx, agent, op, mcc.Online)
	default:
		_, err = o.desk.Reap(ctx, time.Now(), agent)
	}
	if given {
		w.history.take(said{Decision: &Decision{id, s.Epoch, s.AgentID}})
	}
	switch {
	case err == nil:
		w.history.take(said{Served: true})
		return Acknowledged
	case errors.Is(err, rmw.ErrOutcomeUnknown):
		return Unknown
	}
	return NotWritten
}

// audit cleans up after crashed processes, and returns the rules of package desk that are still violated.
func (o deskLoad) audit(ctx context.Context, decisions []Decision) (broken []string, err error) {
	violated := func(format string, args ...any) { broken = append(broken, fmt.Sprintf(format, args...)) }
	agents, sessions := map[string]mcc.Agent{}, map[string]session.Session{}
	for i := range deskAgents {
		name := agentName(i)
		if _, err := o.desk.Reap(ctx, time.Now().Add(time.Hour), name); err != nil {
			return nil, fmt.Errorf("reap %s: %w", name, err)
		}
		if agents[name], err = o.agents.Get(ctx, name); err != nil {
			return nil, err
		}
	}
	for i := range deskSessions {
		name := sessionName(i)
		if sessions[name], err = o.sessions.Get(ctx, name); err != nil {
			return nil, err
		}
	}
	for name, s := range sessions {
		if _, there := agents[s.AgentID].Slots[name]; s.AgentID != "" && !there {
			violated("M2: %s has %s and no slot for it", s.AgentID, name)
		}
	}
	for name, a := range agents {
		if len(a.Slots) > slotsPerAgent {
			violated("M1: %s has %d slots of %d", name, len(a.Slots), slotsPerAgent)
		}
		for id, slot := range a.Slots {
			if s := sessions[id]; s.AgentID != name || slot.State != mcc.Held || slot.Epoch > s.Epoch {
				violated("M3: %s keeps a slot (%s, epoch %d) for %s, of %q, epoch %d", name, slot.State, slot.Epoch, id, s.AgentID, s.Epoch)
			}
		}
	}
	return append(broken, contradictions(decisions, sessions)...), nil
}

// contradictions returns sessions that were assigned to two agents in one epoch, or that belong to another
// agent than reported: each assignment raises the epoch, so an update was lost.
func contradictions(decisions []Decision, sessions map[string]session.Session) (broken []string) {
	type at struct {
		session string
		epoch   uint64
	}
	given := map[at]string{}
	for _, d := range decisions {
		key := at{d.Session, d.Epoch}
		other, known := given[key]
		given[key] = d.Agent
		s := sessions[d.Session]
		switch {
		case known && other != d.Agent:
			broken = append(broken, fmt.Sprintf("M4: %s was assigned to %s and to %s at epoch %d", d.Session, other, d.Agent, d.Epoch))
		case d.Epoch > s.Epoch, d.Epoch == s.Epoch && d.Agent != s.AgentID && s.AgentID != "":
			broken = append(broken, fmt.Sprintf("%s was assigned to %s at epoch %d, and belongs to %q at epoch %d",
				d.Session, d.Agent, d.Epoch, s.AgentID, s.Epoch))
		}
	}
	return broken
}
