package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"
)

// fate is the result of one event for the service.
type fate uint8

const (
	untried fate = iota
	acknowledged
	refused // certainly not stored
	unclear // outcome unknown
)

// audit compares acknowledged events with the stored rooms.
type audit struct {
	Acknowledged int
	Unclear      int      // events with an unknown outcome
	Lost         []int    // IDs of acknowledged events that are not stored
	Doubled      []int    // IDs of events applied more than once
	Phantom      []int    // IDs of stored events that were reported as not stored
	Different    []string // rooms that differ from the acknowledged events applied one by one
}

// clean reports whether the audit found no violation.
func (a audit) clean() bool {
	return len(a.Lost)+len(a.Doubled)+len(a.Phantom)+len(a.Different) == 0
}

// load reads the stored rooms by plain GET, independently of the audited paths.
func load(ctx context.Context, rdb *redis.Client, prefix string, names []string) (map[string]room, error) {
	rooms := make(map[string]room, len(names))
	for part := range slices.Chunk(names, batch) {
		pipe := rdb.Pipeline()
		for _, name := range part {
			pipe.Get(ctx, prefix+"room:"+name)
		}
		replies, _ := pipe.Exec(ctx) // each reply has its own error
		for i, reply := range replies {
			raw, err := reply.(*redis.StringCmd).Bytes()
			if errors.Is(err, redis.Nil) || redis.HasErrorPrefix(err, "WRONGTYPE") {
				continue // the room does not exist
			}
			var r room
			if err == nil {
				err = json.Unmarshal(raw, &r)
			}
			if err != nil {
				return nil, fmt.Errorf("audit: read room %s: %w", part[i], err)
			}
			rooms[part[i]] = r
		}
	}
	return rooms, nil
}

// judge finds lost, doubled and phantom events by ID. fates has one entry per event of the stream.
func judge(stream []event, fates []fate, rooms map[string]room) audit {
	var a audit
	want := map[string]*room{}
	open := map[string]bool{} // rooms with an unknown expected state
	for i, n := range stream {
		stored := rooms[n.Room].Applied.has(n.InRoom)
		switch fates[i] {
		case acknowledged:
			a.Acknowledged++
			if !stored {
				a.Lost = append(a.Lost, n.ID)
			}
			if want[n.Room] == nil {
				want[n.Room] = &room{}
			}
			want[n.Room].apply(n)
		case unclear:
			a.Unclear++
			open[n.Room] = true
		default:
			if stored {
				a.Phantom = append(a.Phantom, n.ID)
			}
		}
		if slices.Contains(rooms[n.Room].Twice, n.InRoom) {
			a.Doubled = append(a.Doubled, n.ID)
		}
	}
	for name, w := range want {
		if !open[name] && !sameState(*w, rooms[name]) {
			a.Different = append(a.Different, name)
		}
	}
	slices.Sort(a.Different)
	return a
}

// sameState compares only state that does not depend on the order between members. The events of
// one member stay in order.
func sameState(a, b room) bool {
	return slices.Equal(a.Members, b.Members) && a.Posts == b.Posts && a.Reacts == b.Reacts
}
