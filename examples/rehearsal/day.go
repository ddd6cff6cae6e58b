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
	room := rand.NewZipf(random, 1.05, 2, 149)
	named := []string{"lobby", "general", "random", "incidents", "deploys", "support", "lunch", "music"}
	in, perRoom := map[string][]string{}, map[string]int{}
	stream := make([]event, n)
	for id := range stream {
		number := room.Uint64()
		e := event{ID: id, Room: fmt.Sprintf("team-%03d", number)}
		if number < uint64(len(named)) {
			e.Room = named[number]
		}
		members := in[e.Room]
		join, leave := 12, 8
		if len(members) > 60 {
			join, leave = 2, 12
		}
		roll, one := random.IntN(100), 0
		if len(members) > 0 {
			one = random.IntN(len(members))
		}
		switch {
		case len(members) < 2 || roll < join:
			e.Op = "join"
			for e.Member == "" || slices.Contains(members, e.Member) {
				e.Member = fmt.Sprintf("m%04d", random.IntN(900))
			}
			in[e.Room] = append(members, e.Member)
		case roll < join+leave:
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
