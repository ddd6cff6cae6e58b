package main

import "slices"

// room is the value of one key, as JSON: the state of a chat room, and a record of the applied
// events for the audit. A lost update loses its record too.
type room struct {
	Members []string `json:"members,omitempty"` // sorted
	Posts   int      `json:"posts"`
	Reacts  int      `json:"reacts"`
	Last    string   `json:"last,omitempty"` // last member that posted

	Applied numbers `json:"applied"`         // InRoom of the applied events
	Twice   []int   `json:"twice,omitempty"` // events that were applied again
}

// apply applies one event. It is the same on every path.
func (r *room) apply(e event) {
	at, in := slices.BinarySearch(r.Members, e.Member)
	switch {
	case e.Op == "join" && !in:
		r.Members = slices.Insert(r.Members, at, e.Member)
	case e.Op == "leave" && in:
		r.Members = slices.Delete(r.Members, at, at+1)
	case e.Op == "post":
		r.Posts++
		r.Last = e.Member
	case e.Op == "react":
		r.Reacts++
	}
	if r.Applied.has(e.InRoom) {
		r.Twice = append(r.Twice, e.InRoom)
	}
	r.Applied.add(e.InRoom)
}

// numbers is a set of numbers, one bit each. It is short in JSON: a few hundred bytes for
// thousands of events.
type numbers []byte

func (s *numbers) add(n int) {
	for len(*s) <= n/8 {
		*s = append(*s, 0)
	}
	(*s)[n/8] |= 1 << (n % 8)
}

func (s numbers) has(n int) bool { return n/8 < len(s) && s[n/8]&(1<<(n%8)) != 0 }
