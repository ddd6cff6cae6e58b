package mcc

import "github.com/unwatch/unwatch/domains"

// Refusals of the rules. After each of them, nothing was written.
var (
	// ErrNoAgent: there is no agent with that id.
	ErrNoAgent = domains.NewRefusal("no_agent", "there is no such agent")
	// ErrAgentExists: Create found an agent with that id.
	ErrAgentExists = domains.NewRefusal("agent_exists", "the agent already exists")
	// ErrFull: the agent's slots have reached the limit.
	ErrFull = domains.NewRefusal("agent_full", "the agent has as many sessions as permitted")
	// ErrNotAccepting: the agent is not online, or does not accept sessions.
	ErrNotAccepting = domains.NewRefusal("not_accepting", "the agent takes no new sessions")
	// ErrMovedOn: the slot is for a later epoch of the session than the given one. Read the session again.
	ErrMovedOn = domains.NewRefusal("slot_moved_on", "the slot is for a later epoch of the session: read the session again")
	// ErrStatus: there is no such status.
	ErrStatus = domains.NewRefusal("status", "an agent is online, busy, away or offline")
)
