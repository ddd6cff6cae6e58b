package main

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// stream is a subscriber to the events of a room.
type stream struct {
	t     *testing.T
	lines *bufio.Scanner
}

// subscribe returns when the subscription stands.
func (a *api) subscribe(room string) stream {
	a.t.Helper()
	return subscribe(a.t, a.url, room)
}

func subscribe(t *testing.T, url, room string) stream {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // rather than for ever
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, "GET", url+"/rooms/"+room+"/events", http.NoBody)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	t.Cleanup(func() { resp.Body.Close() })
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Equal(t, "text/event-stream", resp.Header.Get("Content-Type"))
	return stream{t, bufio.NewScanner(resp.Body)}
}

// next waits for an event; ok is false when the stream has ended.
func (s stream) next() (e happening, ok bool) {
	s.t.Helper()
	kind := ""
	for s.lines.Scan() {
		switch name, value, _ := strings.Cut(s.lines.Text(), ": "); name {
		case "event":
			kind = value
		case "data":
			require.NoError(s.t, json.Unmarshal([]byte(value), &e))
			require.Equal(s.t, kind, e.Kind)
			return e, true
		}
	}
	return e, false
}

func TestEvents(t *testing.T) {
	a := start(t)
	a.room("7", 9)
	a.room("8", 9)
	one, two := a.subscribe("7"), a.subscribe("7")
	a.want(http.StatusCreated, "POST", "/rooms/8/messages", `{"from":"ada","text":"elsewhere"}`)
	a.refused("not a member", "POST", "/rooms/7/messages", `{"from":"eve","text":"never said"}`)
	a.member("7", "ben")
	a.member("7", "ben") // is in already: nothing happens
	a.want(http.StatusCreated, "POST", "/rooms/7/messages", `{"from":"ben","text":"hello"}`)
	a.want(http.StatusOK, "DELETE", "/rooms/7/members/ada", "")
	a.want(http.StatusOK, "POST", "/rooms/7/close", `{"by":"ben"}`)
	for _, s := range []stream{one, two} {
		for _, want := range []happening{
			{Room: "7", Seq: 3, Kind: "joined", By: "ben", At: began},
			{Room: "7", Seq: 4, Kind: "message", By: "ben", Text: "hello", At: began},
			{Room: "7", Seq: 5, Kind: "left", By: "ada", At: began},
			{Room: "7", Seq: 6, Kind: "owner", By: "ben", At: began},
			{Room: "7", Seq: 7, Kind: "closed", By: "ben", At: began},
		} {
			got, ok := s.next()
			require.True(t, ok)
			require.Equal(t, want, got)
		}
		_, ok := s.next()
		require.False(t, ok, "nothing comes after the end")
	}
	_, ok := a.subscribe("7").next()
	require.False(t, ok, "nothing happens in a closed room")
}

// What is said in a session is said in its room.
func TestSessionEvents(t *testing.T) {
	a := start(t)
	s := a.session()
	events := a.subscribe("shop")
	a.want(http.StatusCreated, "POST", s+"/messages", `{"from":"vera","text":"help!"}`)
	e, ok := events.next()
	require.True(t, ok)
	require.Equal(t, "vera: help!", e.By+": "+e.Text)
}

// Many writers, one order: every subscriber sees every event once, in order.
func TestEventsUnderLoad(t *testing.T) {
	a := start(t)
	a.room("7", 9)
	s := a.subscribe("7")
	const writers, messages = 10, 4
	each(writers, func(int) int {
		for range messages {
			status, answer := a.do("POST", "/rooms/7/messages", `{"from":"ada","text":"x"}`)
			assert.Equal(t, http.StatusCreated, status, answer)
		}
		return 0
	})
	for i := range writers * messages {
		e, ok := s.next()
		require.True(t, ok)
		require.EqualValues(t, 3+i, e.Seq)
	}
}

// A server that is told to end ends, with its streams.
func TestShutdown(t *testing.T) {
	s, _, _ := newTestService(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, ln, s) }()

	url := "http://" + ln.Addr().String()
	resp, err := http.Post(url+"/rooms", "application/json", strings.NewReader(`{"id":"7","tenant":"acme","owner":"ada"}`))
	require.NoError(t, err)
	resp.Body.Close()
	events := subscribe(t, url, "7")
	stop()
	_, ok := events.next()
	require.False(t, ok)
	require.NoError(t, <-ended)
}
