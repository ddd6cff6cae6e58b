package main

// The kinds of errors that are the caller's: everything else is the storage's.
type (
	invalid string // the request makes no sense: 400
	missing string // there is no such thing: 404
	refusal string // a rule says no: 409
)

func (e invalid) Error() string { return string(e) }
func (e missing) Error() string { return string(e) }
func (e refusal) Error() string { return string(e) }

const (
	errNoRoom    missing = "there is no such room"
	errNoSession missing = "there is no such session"
	errNoAgent   missing = "there is no such agent"
)

const (
	errRoomExists  refusal = "there is such a room already"
	errRoomClosed  refusal = "the room is closed"
	errRoomFull    refusal = "the room is full"
	errNotMember   refusal = "not a member of the room"
	errNotOwner    refusal = "not the owner of the room"
	errNotSaid     refusal = "the room has no event with that number yet"
	errOtherTenant refusal = "the room belongs to another tenant"

	errTransition refusal = "the session is not in a state for that"
	errStranger   refusal = "neither the visitor of the session nor its agent"
	errSameAgent  refusal = "the agent has the session already"
	errRated      refusal = "the session is rated already"
	errTooLate    refusal = "the session was closed too long ago to be rated"

	errAgentAway   refusal = "the agent is not online"
	errAgentBusy   refusal = "the agent serves as many sessions as they can"
	errAgentServes refusal = "the agent still serves sessions"
)
