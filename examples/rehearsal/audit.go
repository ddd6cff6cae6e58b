package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"
)

// fate is what the service was told about one event.
type fate uint8

const (
	untried fate = iota
	acknowledged
	refused // told that nothing was written
	unclear // told that nobody knows
)

// audit compares what was acknowledged with what is stored, event by event.
type audit struct {
	Acknowledged int
	Unclear      int      // nobody promised anything about these
	Lost         []int    // events by their ID: acknowledged and not stored
	Doubled      []int    // applied more than once
	Phantom      []int    // stored, though the service was told that nothing was written
	Different    []string // rooms that are not what applying the acknowledged events one by one gives
}

// clean reports whether every promise was kept.
func (a audit) clean() bool {
	return len(a.Lost)+len(a.Doubled)+len(a.Phantom)+len(a.Different) == 0
}

// load reads the rooms as they are stored: with a plain GET, because none of the
// paths that are judged here shall have a hand in it.
func load(ctx context.Context, rdb *redis.Client, keys keys, names []string) (map[string]room, error) {
	rooms := make(map[string]room, len(names))
	for part := range slices.Chunk(names, batch) {
		pipe := rdb.Pipeline()
		for _, name := range part {
			pipe.Get(ctx, keys.room(name))
		}
		replies, _ := pipe.Exec(ctx) // each reply has its own error
		for i, reply := range replies {
			if err := add(rooms, part[i], reply.(*redis.StringCmd)); err != nil {
				return nil, err
			}
		}
	}
	return rooms, nil
}

// batch is how many keys are asked for at once: a proxy takes only so many.
const batch = 200

// add adds a room as it was read.
func add(rooms map[string]room, name string, reply *redis.StringCmd) error {
	raw, err := reply.Bytes()
	switch {
	case errors.Is(err, redis.Nil), redis.HasErrorPrefix(err, "WRONGTYPE"):
		return nil // nothing of ours is there
	case err != nil:
		return fmt.Errorf("audit: read room %s: %w", name, err)
	}
	var r room
	if err := json.Unmarshal(raw, &r); err != nil {
		return fmt.Errorf("audit: room %s: %w", name, err)
	}
	rooms[name] = r
	return nil
}

// judge finds every lost and every doubled update, by its ID. fates has one entry
// per event of the stream.
func judge(stream []numbered, fates []fate, rooms map[string]room) audit {
	var a audit
	want := map[string]*room{}
	open := map[string]bool{} // rooms of which nobody knows what they should be
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

// sameState compares what does not depend on the order in which different
// members were served: one member's own events never overtake each other.
func sameState(a, b room) bool {
	return slices.Equal(a.Members, b.Members) && a.Posts == b.Posts && a.Reacts == b.Reacts
}
