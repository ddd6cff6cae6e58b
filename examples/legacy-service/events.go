package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// The kinds of events in a room.
const (
	eventCreated = "created"
	eventJoined  = "joined"
	eventLeft    = "left"
	eventOwner   = "owner" // there is a new one
	eventMessage = "message"
	eventClosed  = "closed"
)

// event is an entry of a room's timeline.
type event struct {
	Room string `json:"room"`
	Seq  int64  `json:"seq"`
	Kind string `json:"kind"`
	By   string `json:"by"`
	Text string `json:"text,omitempty"`
	At   int64  `json:"at"`
}

// keepEvents is how many events the timeline of a room goes back.
const keepEvents = 200

func logKey(room string) string       { return "room:" + room + ":log" }
func eventChannel(room string) string { return "room:" + room + ":events" }

// record puts events into the timeline of a room, and tells the subscribers.
func record(ctx context.Context, pipe redis.Pipeliner, room string, events []event) error {
	for _, e := range events {
		raw, err := json.Marshal(e)
		if err != nil {
			return err
		}
		pipe.ZAdd(ctx, logKey(room), redis.Z{Score: float64(e.Seq), Member: raw})
		pipe.ZRemRangeByRank(ctx, logKey(room), 0, -keepEvents-1)
		pipe.Expire(ctx, logKey(room), roomTTL)
		pipe.Publish(ctx, eventChannel(room), raw)
	}
	return nil
}

// history returns the events of a room that came after a number.
func (s *rooms) history(ctx context.Context, id string, after int64) ([]event, error) {
	lines, err := s.rdb.ZRange(ctx, logKey(id), -keepEvents, -1).Result()
	if err != nil {
		return nil, err
	}
	events := make([]event, 0, len(lines))
	for _, line := range lines {
		var e event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			return nil, fmt.Errorf("%s: %w", logKey(id), err)
		}
		if e.Seq > after {
			events = append(events, e)
		}
	}
	return events, nil
}

// follow returns the events of a room from now on, until ctx ends. What is published
// while the client connects to Redis again is lost; the history has it.
func (s *rooms) follow(ctx context.Context, id string) (<-chan event, error) {
	sub := s.rdb.Subscribe(ctx, eventChannel(id))
	if _, err := sub.ReceiveTimeout(ctx, requestTimeout); err != nil { // the confirmation
		return nil, errors.Join(err, sub.Close())
	}
	events := make(chan event)
	go func() {
		defer close(events)
		defer func() { _ = sub.Close() }()
		messages := sub.Channel()
		for {
			var e event
			select {
			case <-ctx.Done():
				return
			case m, ok := <-messages:
				if !ok || json.Unmarshal([]byte(m.Payload), &e) != nil {
					return
				}
			}
			select {
			case <-ctx.Done():
				return
			case events <- e:
			}
		}
	}()
	return events, nil
}
