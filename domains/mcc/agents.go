package mcc

import (
	"cmp"
	"context"
	"time"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/rmw"
)

// Config configures [Agents]. The zero Config works.
type Config struct {
	// Prefix comes before an agent's id in its key. Default: "agent:".
	Prefix string
	// Layout is the stored form of an agent. Default: domains.JSON. docs/domains.md compares the costs.
	Layout domains.Layout
	// TTL is the expiry after every change of an agent, as in [rmw.Key]. Default: a change keeps the expiry,
	// and a new agent has none. Do not set it together with package desk: the slots expire with the agent, and
	// a new agent under the same id has no slots for the sessions that it still has.
	TTL time.Duration
	// Max is the limit of an agent for which neither Agent.Max nor GroupMax has one; 0 is no limit.
	Max int
	// GroupMax is the limit of the agents of a group; 0 uses Max, [Unlimited] is no limit. All processes must
	// use the same limits.
	GroupMax map[string]int
	// Mend, if not nil, repairs an agent from before the rules. It is called with each agent that is read,
	// before the rules are checked. The next change stores the repair. See [domains.CodecOf] for its limits.
	Mend func(*Agent)
	// Codec, if not nil, replaces Layout and Mend.
	Codec rmw.Codec[Agent]
}

// Agents stores agents. It is safe for concurrent use, and needs no Close.
//
// Each method that takes an Op or a time is one [rmw.Store.Update] with the operation of the same name of
// [Agent]. It returns the stored agent, or a [domains.Refusal] if a rule forbids the change.
//
// Reserve, Confirm, Release and Settle are idempotent and take no Op. Package desk calls them in the right
// order.
type Agents struct {
	cfg  Config
	repo domains.Repository[Agent, *Agent]
}

// New returns Agents over store.
func New(store rmw.Store, cfg Config) Agents {
	codec := cfg.Codec
	if codec == nil {
		codec = domains.CodecOf[Agent, *Agent](cfg.Layout, nil, cfg.Mend)
	}
	prefix := cmp.Or(cfg.Prefix, "agent:")
	return Agents{cfg, domains.NewRepository[Agent, *Agent](store, domains.Config[Agent]{
		Name:    "agent",
		Key:     func(id string) rmw.Key { return rmw.Key{Name: prefix + id, TTL: cfg.TTL} },
		ID:      func(a *Agent) *string { return &a.ID },
		Codec:   codec,
		Absent:  ErrNoAgent,
		Present: ErrAgentExists,
	})}
}

// Limit returns the agent's limit of slots that are not forced; [Unlimited] is no limit.
func (s Agents) Limit(a Agent) int {
	if a.Max != 0 {
		return a.Max
	}
	for _, g := range a.Groups {
		if limit := s.cfg.GroupMax[g]; limit != 0 {
			return limit
		}
	}
	return cmp.Or(s.cfg.Max, Unlimited)
}

// Get returns an agent, or [ErrNoAgent].
func (s Agents) Get(ctx context.Context, id string) (Agent, error) { return s.repo.Get(ctx, id) }

// Create stores a new agent, offline and without slots, with TenantID, Max, Groups and Unknown of info.
func (s Agents) Create(ctx context.Context, id string, op domains.Op, info Agent) (Agent, error) {
	return s.repo.Create(ctx, id, op.As("Create"), func(a *Agent) error {
		*a = Agent{
			ID: id, TenantID: info.TenantID, Max: info.Max, Groups: info.Groups, Status: Offline,
			StatusAt: op.Time(), UpdatedAt: op.Time(), Unknown: info.Unknown,
		}
		return nil
	})
}

// Edit applies change to an agent in one update. change may run several times and must have no side effects.
func (s Agents) Edit(ctx context.Context, id string, op domains.Op, change func(*Agent) error) (Agent, error) {
	return s.repo.Edit(ctx, id, op, change)
}

// SetStatus sets the status. Online also sets Accepting, and Offline clears it.
func (s Agents) SetStatus(ctx context.Context, id string, op domains.Op, status Status) (Agent, error) {
	return s.Edit(ctx, id, op.As("SetStatus"), func(a *Agent) error { return a.SetStatus(op.Time(), status) })
}

// SetAccepting permits or stops new sessions.
func (s Agents) SetAccepting(ctx context.Context, id string, op domains.Op, accepting bool) (Agent, error) {
	return s.Edit(ctx, id, op.As("SetAccepting"), func(a *Agent) error { return a.SetAccepting(op.Time(), accepting) })
}

// SetMax sets the agent's own limit; 0 uses the limit of the groups, else Config.Max.
func (s Agents) SetMax(ctx context.Context, id string, op domains.Op, limit int) (Agent, error) {
	return s.Edit(ctx, id, op.As("SetMax"), func(a *Agent) error { return a.SetMax(op.Time(), limit) })
}

// SetGroups sets the agent's groups, the most important first.
func (s Agents) SetGroups(ctx context.Context, id string, op domains.Op, groups ...string) (Agent, error) {
	return s.Edit(ctx, id, op.As("SetGroups"), func(a *Agent) error { return a.SetGroups(op.Time(), groups) })
}

// SignOff takes the agent offline and keeps the slots. desk.SignOff also releases them.
func (s Agents) SignOff(ctx context.Context, id string, op domains.Op) (Agent, error) {
	return s.Edit(ctx, id, op.As("SignOff"), func(a *Agent) error { return a.SignOff(op.Time()) })
}

// Reserve takes a slot, which permits to give the session to the agent at the given epoch. A forced slot is
// exempt from the limit.
func (s Agents) Reserve(
	ctx context.Context, id string, at time.Time, sessionID string, epoch uint64, until time.Time, forced bool,
) (Agent, error) {
	return s.settle(ctx, id, at, func(a *Agent) error {
		return a.Reserve(domains.At(at), sessionID, epoch, domains.At(until), s.Limit(*a), forced)
	})
}

// Confirm records that the agent has the session at the given epoch.
func (s Agents) Confirm(ctx context.Context, id string, at time.Time, sessionID string, epoch uint64) (Agent, error) {
	return s.settle(ctx, id, at, func(a *Agent) error { return a.Confirm(domains.At(at), sessionID, epoch) })
}

// Release removes the slot of a session that the agent does not have at the given epoch.
func (s Agents) Release(ctx context.Context, id string, at time.Time, sessionID string, epoch uint64) (Agent, error) {
	return s.settle(ctx, id, at, func(a *Agent) error { return a.Release(domains.At(at), sessionID, epoch) })
}

// Settle confirms or releases any number of slots in one update. It keeps slots to which a decision no longer
// applies: compare with the returned agent.
func (s Agents) Settle(ctx context.Context, id string, at time.Time, slots []Settlement) (Agent, error) {
	return s.settle(ctx, id, at, func(a *Agent) error { return a.Settle(domains.At(at), slots) })
}

func (s Agents) settle(ctx context.Context, id string, at time.Time, change func(*Agent) error) (Agent, error) {
	return s.repo.Settle(ctx, id, at, func(a *Agent, exists bool) error {
		if !exists {
			return ErrNoAgent
		}
		return change(a)
	})
}
