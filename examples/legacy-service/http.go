package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	requestTimeout = 5 * time.Second
	maxBody        = 64 << 10
	maxText        = 4000
)

// service is the HTTP API over what is stored.
type service struct {
	rooms    *rooms
	sessions *sessions
	agents   *agents
	queues   *queues

	mux      *http.ServeMux
	stopping context.Context // ends the streams of events
	stop     func()
}

// newService returns the service over a Redis. now is its clock.
func newService(rdb redis.UniversalClient, now func() time.Time) *service {
	millis := func() int64 { return now().UnixMilli() }
	s := &service{
		rooms:  &rooms{rdb: rdb, now: millis},
		agents: &agents{rdb: rdb, now: millis},
		queues: &queues{rdb: rdb},
		mux:    http.NewServeMux(),
	}
	s.sessions = &sessions{rdb: rdb, now: millis, rooms: s.rooms, queues: s.queues}
	s.stopping, s.stop = context.WithCancel(context.Background())
	s.routes()
	return s
}

func (s *service) routes() {
	s.handle("POST /rooms", http.StatusCreated, s.createRoom)
	s.handle("GET /rooms/{id}", http.StatusOK, s.getRoom)
	s.handle("PUT /rooms/{id}/members/{member}", http.StatusOK, s.joinRoom)
	s.handle("DELETE /rooms/{id}/members/{member}", http.StatusOK, s.leaveRoom)
	s.handle("PUT /rooms/{id}/members/{member}/read", http.StatusOK, s.readRoom)
	s.handle("POST /rooms/{id}/messages", http.StatusCreated, s.postMessage)
	s.handle("POST /rooms/{id}/close", http.StatusOK, s.closeRoom)
	s.handle("GET /rooms/{id}/history", http.StatusOK, s.roomHistory)
	s.route("GET /rooms/{id}/events", s.streamEvents)

	s.handle("POST /sessions", http.StatusCreated, s.openSession)
	s.handle("GET /sessions/{id}", http.StatusOK, s.getSession)
	s.handle("POST /sessions/{id}/escalate", http.StatusOK, s.escalateSession)
	s.handle("POST /sessions/{id}/assign", http.StatusOK, s.assignSession)
	s.handle("POST /sessions/{id}/messages", http.StatusCreated, s.saySession)
	s.handle("POST /sessions/{id}/hold", http.StatusOK, s.holdSession)
	s.handle("POST /sessions/{id}/transfer", http.StatusOK, s.transferSession)
	s.handle("POST /sessions/{id}/close", http.StatusOK, s.closeSession)
	s.handle("POST /sessions/{id}/rating", http.StatusOK, s.rateSession)
	s.handle("GET /tenants/{tenant}/sessions", http.StatusOK, s.latestSessions)

	s.handle("PUT /agents/{id}", http.StatusOK, s.setAgent)
	s.handle("GET /agents/{id}", http.StatusOK, s.getAgent)
	s.handle("POST /agents/{id}/next", http.StatusOK, s.nextSession)
	s.handle("GET /queues/{queue}", http.StatusOK, s.getQueue)
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// route answers a route with h, unless a name in the path is none.
func (s *service) route(pattern string, h http.HandlerFunc) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		for _, wildcard := range []string{"id", "member", "tenant", "queue"} {
			if value := r.PathValue(wildcard); value != "" && name(wildcard, value) != nil {
				fail(w, r, name(wildcard, value))
				return
			}
		}
		h(w, r)
	})
}

// handle answers a route with what do returns: with status and the value, with 204
// if that is nil, or with the error.
func (s *service) handle(pattern string, status int, do func(*http.Request) (any, error)) {
	s.route(pattern, func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
		defer cancel()
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		body, err := do(r.WithContext(ctx))
		switch {
		case err != nil:
			fail(w, r, err)
		case body == nil:
			w.WriteHeader(http.StatusNoContent)
		default:
			respond(w, status, body)
		}
	})
}

func respond(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the caller may have gone
}

// fail answers with an error. What Redis said stays in the log.
func fail(w http.ResponseWriter, r *http.Request, err error) {
	status, text := http.StatusServiceUnavailable, "that did not work, try again"
	if _, ok := errors.AsType[invalid](err); ok {
		status, text = http.StatusBadRequest, err.Error()
	} else if _, ok := errors.AsType[missing](err); ok {
		status, text = http.StatusNotFound, err.Error()
	} else if _, ok := errors.AsType[refusal](err); ok {
		status, text = http.StatusConflict, err.Error()
	} else {
		slog.Error("request failed", "method", r.Method, "path", r.URL.Path, "err", err)
		w.Header().Set("Retry-After", "1")
	}
	respond(w, status, map[string]string{"error": text})
}

// decode reads the body of a request. None at all is the zero T.
func decode[T any](r *http.Request) (in T, err error) {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil && !errors.Is(err, io.EOF) {
		return in, invalid("cannot read the body: " + err.Error())
	}
	return in, nil
}

// names are what keys are made of.
var names = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

func name(what, value string) error {
	if !names.MatchString(value) {
		return invalid(what + " must be 1 to 64 letters, digits, dots, dashes or underscores")
	}
	return nil
}

func text(what, value string) error {
	if value == "" || len(value) > maxText {
		return invalid(what + " must not be empty, nor longer than 4000 bytes")
	}
	return nil
}

func between(what string, value, least, most int) error {
	if value < least || value > most {
		return invalid(what + " is out of range")
	}
	return nil
}
