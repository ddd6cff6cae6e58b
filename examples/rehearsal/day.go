package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// dayEvents is the number of events in the simulated day.
const dayEvents = 24000

// event is one thing that a member does in a room: one update.
type event struct {
	Room, Op, Member string

	ID     int // position in the day, from 0
	InRoom int // position among the events of its room, from 1
}

// String returns a short description.
func (e event) String() string { return e.Member + " " + e.Op + " " + e.Room }

// day returns the first n events of a simulated day: a few busy rooms and many quiet ones. Its
// random numbers have a fixed seed, so every run plays the same events.
func day(n int) []event {
	random := rand.New(rand.NewPCG(2017, 11))
	zipf := rand.NewZipf(random, 1.05, 2, 149)
	names := []string{"lobby", "general", "random", "incidents", "deploys", "support", "lunch", "music"}
	for i := len(names); i < 150; i++ {
		names = append(names, fmt.Sprintf("team-%03d", i))
	}
	in, perRoom := map[string][]string{}, map[string]int{}
	stream := make([]event, n)
	for id := range stream {
		e := event{ID: id, Room: names[zipf.Uint64()]}
		members, roll := in[e.Room], random.IntN(100)
		one := random.IntN(max(len(members), 1))
		switch {
		case len(members) < 2 || roll < 12 && len(members) < 60:
			e.Op = "join"
			for e.Member == "" || slices.Contains(members, e.Member) {
				e.Member = fmt.Sprintf("m%04d", random.IntN(900))
			}
			in[e.Room] = append(members, e.Member)
		case roll < 20:
			e.Op, e.Member = "leave", members[one]
			in[e.Room] = slices.Delete(members, one, one+1)
		case roll < 90:
			e.Op, e.Member = "post", members[one]
		default:
			e.Op, e.Member = "react", members[one]
		}
		perRoom[e.Room]++
		e.InRoom = perRoom[e.Room]
		stream[id] = e
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
