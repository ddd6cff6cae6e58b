package main

import (
	"slices"

	"github.com/unwatch/unwatch/examples/rehearsal/internal/events"
)

// room is the value of one key, as JSON: the business state, and a record of the applied events for
// the audit. A lost update loses its record too.
type room struct {
	Members []string `json:"members,omitempty"` // sorted
	Posts   int      `json:"posts"`
	Reacts  int      `json:"reacts"`
	Last    string   `json:"last,omitempty"` // last member that posted

	Applied spans `json:"applied"`         // InRoom of the applied events
	Twice   []int `json:"twice,omitempty"` // events that were applied again
}

// apply applies one event. It is the same on every path.
func (r *room) apply(n numbered) {
	switch n.Op {
	case "join":
		if at, in := slices.BinarySearch(r.Members, n.Member); !in {
			r.Members = slices.Insert(r.Members, at, n.Member)
		}
	case "leave":
		if at, in := slices.BinarySearch(r.Members, n.Member); in {
			r.Members = slices.Delete(r.Members, at, at+1)
		}
	case "post":
		r.Posts++
		r.Last = n.Member
	case "react":
		r.Reacts++
	}
	if !r.Applied.add(n.InRoom) {
		r.Twice = append(r.Twice, n.InRoom)
	}
}

// numbered is an event with its identity.
type numbered struct {
	events.Event
	ID     int // position in the stream, from 0
	InRoom int // position among the events of its room, from 1
}

// number sets the identity of every event.
func number(stream []events.Event) []numbered {
	out := make([]numbered, len(stream))
	perRoom := map[string]int{}
	for i, e := range stream {
		perRoom[e.Room]++
		out[i] = numbered{Event: e, ID: i, InRoom: perRoom[e.Room]}
	}
	return out
}

// roomsOf returns the names of the rooms in a stream, the busiest first.
func roomsOf(stream []numbered) []string {
	perRoom := map[string]int{}
	var names []string
	for _, n := range stream {
		if perRoom[n.Room]++; perRoom[n.Room] == 1 {
			names = append(names, n.Room)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return perRoom[b] - perRoom[a] })
	return names
}
