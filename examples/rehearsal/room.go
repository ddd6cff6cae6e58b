package main

import (
	"slices"

	"github.com/unwatch/unwatch/examples/rehearsal/internal/events"
)

// room is what the chat service stores under one key, as JSON: the business
// state, and a record of what was applied, which is what the audit reads. Both
// are in one value, so an update that is lost takes its entry along.
type room struct {
	Members []string `json:"members,omitempty"` // sorted
	Posts   int      `json:"posts"`
	Reacts  int      `json:"reacts"`
	Last    string   `json:"last,omitempty"` // who posted last

	Applied spans `json:"applied"`         // the numbers, within the room, of the events applied
	Twice   []int `json:"twice,omitempty"` // those that were applied again
}

// apply is the business of the service. It is the same on every path.
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
	ID     int // its place in the stream, from 0
	InRoom int // its place among the events of its room, from 1
}

// number gives every event its identity.
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
