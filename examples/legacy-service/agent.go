package main

import "slices"

const (
	agentOnline  = "online"
	agentBusy    = "busy" // online, and serves as many as they can
	agentAway    = "away"
	agentOffline = "offline"
)

// agent is somebody who serves visitors. Its methods are the rules.
type agent struct {
	ID       string   `json:"id"`
	Status   string   `json:"status"`
	Max      int      `json:"max"` // how many sessions at once
	Sessions []string `json:"sessions"`
	ActiveAt int64    `json:"active_at"` // Unix milliseconds
}

// set is what agents say of themselves.
func (a *agent) set(status string, limit int, now int64) error {
	if status == agentOffline && len(a.Sessions) > 0 {
		return errAgentServes
	}
	a.Status, a.Max, a.ActiveAt = status, limit, now
	a.settle()
	return nil
}

// settle makes an agent who is there online or busy.
func (a *agent) settle() {
	if a.Status != agentOnline && a.Status != agentBusy {
		return
	}
	a.Status = agentOnline
	if len(a.Sessions) >= a.Max {
		a.Status = agentBusy
	}
}

// take gives the agent a session, if they have a hand free.
func (a *agent) take(session string, now int64) error {
	switch a.Status {
	case agentOnline:
	case agentBusy:
		return errAgentBusy
	default:
		return errAgentAway
	}
	a.Sessions = append(a.Sessions, session)
	a.ActiveAt = now
	a.settle()
	return nil
}

// release takes a session from the agent.
func (a *agent) release(session string, now int64) {
	a.Sessions = slices.DeleteFunc(a.Sessions, func(s string) bool { return s == session })
	a.ActiveAt = now
	a.settle()
}
