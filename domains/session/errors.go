package session

import "github.com/unwatch/unwatch/domains"

// Refusals of the rules. After each of them, nothing was written.
var (
	// ErrNoSession: there is no session with that id.
	ErrNoSession = domains.NewRefusal("no_session", "there is no such session")
	// ErrSessionExists: Create found a session with that id.
	ErrSessionExists = domains.NewRefusal("session_exists", "the session already exists")
	// ErrClosed: the session is closed, and cannot change.
	ErrClosed = domains.NewRefusal("session_closed", "the session is closed")
	// ErrNotNow: the transition table forbids the operation in the session's state.
	ErrNotNow = domains.NewRefusal("not_now", "the session's state does not permit the operation")
	// ErrNotHolder: the session has another agent, or none.
	ErrNotHolder = domains.NewRefusal("not_holder", "the session is not with that agent")
	// ErrMovedOn: the session has another epoch than the given one. Read it again.
	ErrMovedOn = domains.NewRefusal("moved_on", "the session's epoch has changed: read it again")
	// ErrSameAgent: the agent already has the session.
	ErrSameAgent = domains.NewRefusal("same_agent", "the agent already has the session")
	// ErrNotIdle: the limits of [Idle] have not passed.
	ErrNotIdle = domains.NewRefusal("not_idle", "the session is not idle")

	// ErrNotClosed: only a closed session is rated or reopened.
	ErrNotClosed = domains.NewRefusal("session_open", "the session is not closed")
	// ErrRated: the session has a rating.
	ErrRated = domains.NewRefusal("rated", "the session has been rated")
	// ErrRateLate: the window for a rating is over.
	ErrRateLate = domains.NewRefusal("rate_late", "the time for rating the session is over")
	// ErrScore: a score is 1 to 5.
	ErrScore = domains.NewRefusal("score", "a score is from 1 to 5")
	// ErrReopenLate: the window for reopening is over.
	ErrReopenLate = domains.NewRefusal("reopen_late", "the time for reopening the session is over")
)
