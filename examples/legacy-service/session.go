package main

import (
	"fmt"
	"slices"
	"time"
)

// The states of a session.
const (
	stateBot      = "bot"      // a program answers
	stateQueued   = "queued"   // waits for an agent
	stateAssigned = "assigned" // has one, who has not said anything yet
	stateActive   = "active"
	stateOnHold   = "on_hold"
	stateClosed   = "closed"
)

// transitions says which states may follow a state.
var transitions = map[string][]string{
	stateBot:      {stateQueued, stateClosed},
	stateQueued:   {stateAssigned, stateClosed},
	stateAssigned: {stateActive, stateAssigned, stateClosed},
	stateActive:   {stateActive, stateOnHold, stateAssigned, stateClosed},
	stateOnHold:   {stateActive, stateAssigned, stateClosed},
}

// ratingWindow is for how long a closed session can be rated.
const ratingWindow = 24 * time.Hour

// session is a visitor's talk with a virtual merchant, in a room, served by a bot
// and then by agents. Its methods are the rules. All times are Unix milliseconds.
type session struct {
	ID            string     `json:"id"`
	Tenant        string     `json:"tenant"`
	Visitor       string     `json:"visitor"`
	Room          string     `json:"room"`
	Merchant      string     `json:"merchant"`
	Queue         string     `json:"queue,omitempty"`
	Priority      int        `json:"priority,omitempty"`
	Status        string     `json:"status"`
	Agent         string     `json:"agent,omitempty"`
	Transfers     []transfer `json:"transfers,omitempty"`
	OpenedAt      int64      `json:"opened_at"`
	QueuedAt      int64      `json:"queued_at,omitempty"`
	AssignedAt    int64      `json:"assigned_at,omitempty"`
	FirstReplyAt  int64      `json:"first_reply_at,omitempty"`
	LastMessageAt int64      `json:"last_message_at,omitempty"`
	ClosedAt      int64      `json:"closed_at,omitempty"`
	CloseReason   string     `json:"close_reason,omitempty"`
	Rating        *rating    `json:"rating,omitempty"`
}

type transfer struct {
	From string `json:"from"`
	To   string `json:"to"`
	At   int64  `json:"at"`
}

type rating struct {
	Score   int    `json:"score"`
	Comment string `json:"comment,omitempty"`
	At      int64  `json:"at"`
}

// notNow is the refusal of what the session's state does not permit.
func (s *session) notNow() error { return fmt.Errorf("%w: it is %s", errTransition, s.Status) }

func (s *session) become(state string) error {
	if !slices.Contains(transitions[s.Status], state) {
		return s.notNow()
	}
	s.Status = state
	return nil
}

// escalate takes the visitor from the bot to a queue.
func (s *session) escalate(queue string, priority int, now int64) error {
	if err := s.become(stateQueued); err != nil {
		return err
	}
	s.Queue, s.Priority, s.QueuedAt = queue, priority, now
	return nil
}

// place is what the queue is ordered by: each level of priority is worth a minute
// of waiting, so that nobody waits for ever.
func (s *session) place() float64 {
	return float64(s.QueuedAt - int64(s.Priority)*time.Minute.Milliseconds())
}

// assign gives a waiting session to an agent.
func (s *session) assign(agent string, now int64) error {
	if s.Status != stateQueued { // from the other states it is a transfer
		return s.notNow()
	}
	s.Status, s.Agent, s.AssignedAt = stateAssigned, agent, now
	return nil
}

// transfer gives a session that has an agent to another one.
func (s *session) transfer(to string, now int64) error {
	if s.Agent == "" {
		return s.notNow()
	}
	if s.Agent == to {
		return errSameAgent
	}
	if err := s.become(stateAssigned); err != nil {
		return err
	}
	s.Transfers = append(s.Transfers, transfer{From: s.Agent, To: to, At: now})
	s.Agent, s.AssignedAt = to, now
	return nil
}

// said notes a message. The first of an agent, or the first after a pause, makes
// the session active.
func (s *session) said(from string, now int64) error {
	if from != s.Visitor && from != s.Agent {
		return errStranger
	}
	if s.Status == stateClosed {
		return s.notNow()
	}
	if from == s.Agent && s.FirstReplyAt == 0 {
		s.FirstReplyAt = now
	}
	s.LastMessageAt = now
	if s.Status == stateOnHold || from == s.Agent {
		return s.become(stateActive)
	}
	return nil
}

// hold is the agent's pause until somebody says something.
func (s *session) hold(agent string) error {
	if agent != s.Agent {
		return errStranger
	}
	return s.become(stateOnHold)
}

func (s *session) close(reason string, now int64) error {
	if err := s.become(stateClosed); err != nil {
		return err
	}
	s.ClosedAt, s.CloseReason = now, reason
	return nil
}

// rate is the visitor's word on a closed session, once.
func (s *session) rate(score int, comment string, now int64) error {
	switch {
	case s.Status != stateClosed:
		return s.notNow()
	case s.Rating != nil:
		return errRated
	case now-s.ClosedAt > ratingWindow.Milliseconds():
		return errTooLate
	}
	s.Rating = &rating{Score: score, Comment: comment, At: now}
	return nil
}
