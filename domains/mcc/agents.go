package mcc

import (
	"cmp"
	"context"
	"time"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/rmw"
)

// Config says how agents are stored, and how much they may have to do. The zero
// Config works.
type Config struct {
	// Prefix comes before an agent's id in its key. Default: "agent:".
	Prefix string
	// Layout is how an agent lies in the store. Default: domains.JSON. See the
	// package's "Sizes and cost".
	Layout domains.Layout
	// TTL is the expiry that every change of an agent leaves behind, as in [rmw.Key].
	// Default: it stays as it is; a new agent has none. Leave it so where package desk
	// is used: an agent that expires, or is removed, takes the slots along, and one made
	// anew under the same id knows nothing of the sessions that are still theirs.
	TTL time.Duration
	// Max is how many sessions an agent may have for whom neither Agent.Max nor
	// GroupMax says it; 0 is no limit.
	Max int
	// GroupMax is the same for the agents of a group; 0 leaves it to Max, [Unlimited] is
	// no limit. All processes must agree on it.
	GroupMax map[string]int
	// Mend, if not nil, repairs an agent that was stored before there were rules: it is called
	// with each that is read, before the rules are looked at. What it changes is stored
	// with the next change. See [domains.CodecOf] for what it may do.
	Mend func(*Agent)
	// Codec, if not nil, is a layout of your own. Layout and Mend do not count then.
	Codec rmw.Codec[Agent]
}

// Agents stores agents. It is safe for concurrent use.
//
// Each method that takes an Op or a time is one [rmw.Store.Update] with the operation
// of the same name of [Agent], and returns the agent as it is stored then. What a
// rule refuses comes back as a [domains.Refusal].
//
// Reserve, Confirm, Release and Settle take no Op: what they do shows in the agent, so
// doing it again changes nothing. Package desk calls them in the right order.
type Agents struct {
	cfg  Config
	repo domains.Repository[Agent, *Agent]
}

// New returns the agents in store.
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

// Limit returns how many sessions the agent may have; [Unlimited] is no limit.
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

// Get returns an agent.
func (s Agents) Get(ctx context.Context, id string) (Agent, error) { return s.repo.Get(ctx, id) }

// Create makes an agent, offline and without slots, with what info has under
// TenantID, Max and Groups.
func (s Agents) Create(ctx context.Context, id string, op domains.Op, info Agent) (Agent, error) {
	return s.repo.Create(ctx, id, op.As("Create"), func(a *Agent) error {
		*a = Agent{
			ID: id, TenantID: info.TenantID, Max: info.Max, Groups: info.Groups, Status: Offline,
			StatusAt: op.Time(), UpdatedAt: op.Time(), Unknown: info.Unknown,
		}
		return nil
	})
}

// Edit changes an agent by whatever change does, in one step. change may run several
// times, and computes only; see [rmw.UpdateFunc].
func (s Agents) Edit(ctx context.Context, id string, op domains.Op, change func(*Agent) error) (Agent, error) {
	return s.repo.Edit(ctx, id, op, change)
}

// SetStatus says what the agent wants. Whoever comes online accepts sessions.
func (s Agents) SetStatus(ctx context.Context, id string, op domains.Op, status Status) (Agent, error) {
	return s.Edit(ctx, id, op.As("SetStatus"), func(a *Agent) error { return a.SetStatus(op.Time(), status) })
}

// SetAccepting says whether new sessions may come.
func (s Agents) SetAccepting(ctx context.Context, id string, op domains.Op, accepting bool) (Agent, error) {
	return s.Edit(ctx, id, op.As("SetAccepting"), func(a *Agent) error { return a.SetAccepting(op.Time(), accepting) })
}

// SetMax sets how many sessions the agent may have.
func (s Agents) SetMax(ctx context.Context, id string, op domains.Op, limit int) (Agent, error) {
	return s.Edit(ctx, id, op.As("SetMax"), func(a *Agent) error { return a.SetMax(op.Time(), limit) })
}

// SetGroups says which groups the agent belongs to, the most important first.
func (s Agents) SetGroups(ctx context.Context, id string, op domains.Op, groups ...string) (Agent, error) {
	return s.Edit(ctx, id, op.As("SetGroups"), func(a *Agent) error { return a.SetGroups(op.Time(), groups) })
}

// SignOff takes the agent offline. The slots stay: desk.SignOff clears them.
func (s Agents) SignOff(ctx context.Context, id string, op domains.Op) (Agent, error) {
	return s.Edit(ctx, id, op.As("SignOff"), func(a *Agent) error { return a.SignOff(op.Time()) })
}

// Reserve takes a slot for a session that may be given to the agent while it has
// epoch.
func (s Agents) Reserve(
	ctx context.Context, id string, at time.Time, sessionID string, epoch uint64, until time.Time, forced bool,
) (Agent, error) {
	return s.settle(ctx, id, at, func(a *Agent) error {
		return a.Reserve(domains.At(at), sessionID, epoch, domains.At(until), s.Limit(*a), forced)
	})
}

// Confirm notes that the session is the agent's, and has epoch since or again.
func (s Agents) Confirm(ctx context.Context, id string, at time.Time, sessionID string, epoch uint64) (Agent, error) {
	return s.settle(ctx, id, at, func(a *Agent) error { return a.Confirm(domains.At(at), sessionID, epoch) })
}

// Release gives up the slot of a session that has epoch, and is not the agent's any
// more.
func (s Agents) Release(ctx context.Context, id string, at time.Time, sessionID string, epoch uint64) (Agent, error) {
	return s.settle(ctx, id, at, func(a *Agent) error { return a.Release(domains.At(at), sessionID, epoch) })
}

// Settle does what Confirm and Release do, for any number of slots in one update. Slots
// that are not any more what was decided about stay as they are: compare with the agent
// that is returned.
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
