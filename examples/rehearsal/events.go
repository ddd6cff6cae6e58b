package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// maxEvents is the length of the longest stream.
const maxEvents = 24000

// event is one thing that a member does in a room: one update.
type event struct {
	Room, Op string
	Member   int

	ID     int // position in the stream, from 0
	InRoom int // position among the events of its room, from 1
}

// String returns a short description.
func (e event) String() string { return fmt.Sprintf("m%02d %s %s", e.Member, e.Op, e.Room) }

// events returns a stream over 150 rooms, of which a few are busy. Every run plays the same events.
func events(n int) []event {
	random := rand.New(rand.NewPCG(2017, 11))
	zipf := rand.NewZipf(random, 1.05, 2, 149)
	busy := []string{"lobby", "general", "random", "incidents", "deploys", "support", "lunch", "music"}
	ops := []string{"join", "leave", "post", "post", "post", "post", "react"}
	perRoom, stream := map[string]int{}, make([]event, n)
	for id := range stream {
		i := int(zipf.Uint64())
		name := fmt.Sprintf("team-%03d", i)
		if i < len(busy) {
			name = busy[i]
		}
		perRoom[name]++
		stream[id] = event{name, ops[random.IntN(len(ops))], random.IntN(4 * writers), id, perRoom[name]}
	}
	return stream
}

// roomsOf returns the names of the rooms in a stream, the busiest first.
func roomsOf(stream []event) []string {
	perRoom := map[string]int{}
	var names []string
	for _, e := range stream {
		if perRoom[e.Room]++; perRoom[e.Room] == 1 {
			names = append(names, e.Room)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return perRoom[b] - perRoom[a] })
	return names
}

// hottest returns the first events of the busiest rooms, where processes contend.
func hottest(stream []event, rooms, limit int) (out []event) {
	hot := roomsOf(stream)
	hot = hot[:min(rooms, len(hot))]
	for _, e := range stream {
		if slices.Contains(hot, e.Room) && len(out) < limit {
			out = append(out, e)
		}
	}
	return out
}

// room is the value of one key, as JSON: the state of a chat room, and a record of the applied events for the audit. A
// lost update loses its record too.
type room struct {
	Members []int `json:"members,omitempty"` // sorted
	Posts   int   `json:"posts"`
	Reacts  int   `json:"reacts"`

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
	case e.Op == "react":
		r.Reacts++
	}
	if r.Applied.has(e.InRoom) {
		r.Twice = append(r.Twice, e.InRoom)
	}
	r.Applied.add(e.InRoom)
}

// numbers is a set of numbers, one bit each, which is short in JSON.
type numbers []byte

func (s *numbers) add(n int) {
	for len(*s) <= n/8 {
		*s = append(*s, 0)
	}
	(*s)[n/8] |= 1 << (n % 8)
}

func (s numbers) has(n int) bool { return n/8 < len(s) && s[n/8]&(1<<(n%8)) != 0 }
