package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

const (
	heartbeat    = 15 * time.Second // so that nothing in between takes a quiet room for a dead one
	writeTimeout = 10 * time.Second
)

// streamEvents sends the events of a room as they happen, as server-sent events,
// until the room is closed. Whoever was away asks the history first.
func (s *service) streamEvents(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.stopping, cancel)()
	id := r.PathValue("id")
	events, err := s.rooms.follow(ctx, id) // before looking whether it is closed
	if err != nil {
		fail(w, r, err)
		return
	}
	room, err := s.rooms.get(ctx, id)
	if err != nil {
		fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	if send(w, ": connected\n\n") != nil || room.Status == roomClosed {
		return
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
			err = send(w, ": still here\n\n")
		case e, ok := <-events:
			if !ok {
				return
			}
			err = sendEvent(w, e)
			if e.Kind == eventClosed {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func sendEvent(w http.ResponseWriter, e event) error {
	raw, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return send(w, fmt.Sprintf("id: %d\nevent: %s\ndata: %s\n\n", e.Seq, e.Kind, raw))
}

// send writes to a response that goes on for longer than the server's timeouts.
func send(w http.ResponseWriter, text string) error {
	rc := http.NewResponseController(w)
	if err := rc.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	if err := rc.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	if _, err := io.WriteString(w, text); err != nil {
		return err
	}
	return rc.Flush()
}
