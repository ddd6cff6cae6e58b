package mcc

import "github.com/unwatch/unwatch/domains"

// Transitions returns the agent's transition table.
func Transitions() domains.Table { return agentTransitions.Clone() }

// SlotTransitions returns the transition table of a slot.
func SlotTransitions() domains.Table { return slotTransitions.Clone() }

var (
	every    = []string{string(Online), string(Busy), string(Away), string(Offline)}
	reserved = []string{string(Reserved)}
	either   = []string{string(Reserved), string(Held)}
)

var agentTransitions = domains.Table{Entity: "agent", Rows: []domains.Transition{
	{Op: "Create", To: string(Offline)},
	{Op: "SetStatus", From: every, To: string(Online)},
	{Op: "SetStatus", From: every, To: string(Busy)},
	{Op: "SetStatus", From: every, To: string(Away)},
	{Op: "SetStatus", From: every, To: string(Offline)},
	{Op: "SignOff", From: every, To: string(Offline), When: "also stops accepting; desk releases the slots"},
	{Op: "SetAccepting", From: every},
	{Op: "SetMax", From: every, When: "slots above the new limit stay"},
	{Op: "SetGroups", From: every},
	{Op: "Reserve", From: []string{string(Online)}, When: "accepting, and below the limit or forced"},
	{Op: "Confirm", From: every},
	{Op: "Release", From: every},
}}

var statuses = agentTransitions.States()

var slotTransitions = domains.Table{Entity: "slot", Rows: []domains.Transition{
	{Op: "Reserve", To: string(Reserved), When: "the agent accepts it: see the agent's Reserve"},
	{Op: "Reserve", From: either, To: string(Reserved), When: "for a later epoch of the session"},
	{Op: "Confirm", From: reserved, To: string(Held), When: "the agent has the session, at the slot's epoch or a later one"},
	{Op: "Confirm", From: []string{string(Held)}, When: "the agent still has the session; the epoch follows"},
	{Op: "Release", From: either, When: "the session has a later epoch than the slot; removes the slot"},
}}
