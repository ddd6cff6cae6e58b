package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The tests know the service by its HTTP API only. What it stands on is this file's
// business: the tests are the same whatever that is.

// began is when the clock of every test starts.
const began = 1_700_000_000_000

// api is a running service and a client of it.
type api struct {
	t       *testing.T
	url     string
	client  *http.Client
	storage *miniredis.Miniredis
	clock   *atomic.Int64 // Unix milliseconds
}

func start(t *testing.T) *api {
	t.Helper()
	s, storage, clock := newTestService(t)
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	t.Cleanup(s.stop) // before it: a server waits for its streams
	return &api{t: t, url: srv.URL, client: srv.Client(), storage: storage, clock: clock}
}

func newTestService(t *testing.T) (*service, *miniredis.Miniredis, *atomic.Int64) {
	t.Helper()
	clock := new(atomic.Int64)
	clock.Store(began)
	storage := miniredis.RunT(t)
	rdb := redis.NewClient(&redis.Options{Addr: storage.Addr()})
	t.Cleanup(func() { rdb.Close() })
	return newService(rdb, func() time.Time { return time.UnixMilli(clock.Load()) }), storage, clock
}

// pass lets time pass, for the service and for what is stored.
func (a *api) pass(d time.Duration) {
	a.clock.Add(d.Milliseconds())
	a.storage.FastForward(d)
}

// breakDown makes the storage refuse everything.
func (a *api) breakDown() { a.storage.SetError("ERR out of order") }

// do sends a request and returns the answer. It may be called on any goroutine.
func (a *api) do(method, path, body string) (status int, answer string) {
	req, err := http.NewRequestWithContext(a.t.Context(), method, a.url+path, strings.NewReader(body))
	if !assert.NoError(a.t, err) {
		return 0, ""
	}
	resp, err := a.client.Do(req)
	if !assert.NoError(a.t, err) {
		return 0, ""
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	assert.NoError(a.t, err)
	if resp.StatusCode >= 400 {
		var e map[string]string
		assert.NoError(a.t, json.Unmarshal(raw, &e), "%s %s: %s", method, path, raw)
		assert.NotEmpty(a.t, e["error"])
	}
	return resp.StatusCode, string(raw)
}

// want is do, with the status that has to come.
func (a *api) want(status int, method, path, body string) string {
	a.t.Helper()
	got, answer := a.do(method, path, body)
	require.Equal(a.t, status, got, "%s %s %s: %s", method, path, body, answer)
	return answer
}

// refused wants a 409 that says why.
func (a *api) refused(why, method, path, body string) {
	a.t.Helper()
	require.Contains(a.t, a.want(http.StatusConflict, method, path, body), why)
}

func (a *api) get(path string) string { a.t.Helper(); return a.want(http.StatusOK, "GET", path, "") }

// member makes somebody a member of a room that exists.
func (a *api) member(room, who string) {
	a.t.Helper()
	a.want(http.StatusOK, "PUT", "/rooms/"+room+"/members/"+who, "")
}

// room makes a room of ada's.
func (a *api) room(id string, limit int) {
	a.t.Helper()
	a.want(http.StatusCreated, "POST", "/rooms", fmt.Sprintf(`{"id":%q,"tenant":"acme","owner":"ada","cap":%d}`, id, limit))
}

// online makes an agent.
func (a *api) online(id string, limit int) {
	a.t.Helper()
	a.want(http.StatusOK, "PUT", "/agents/"+id, fmt.Sprintf(`{"status":"online","max":%d}`, limit))
}

// session opens a session of vera's and returns its path. It is in the room "shop",
// where ben and cleo are, too.
func (a *api) session() string {
	a.t.Helper()
	if status, _ := a.do("GET", "/rooms/shop", ""); status == http.StatusNotFound {
		a.room("shop", 100)
		for _, who := range []string{"vera", "ben", "cleo"} {
			a.member("shop", who)
		}
	}
	return "/sessions/" + field[string](a.t, a.want(http.StatusCreated, "POST", "/sessions",
		`{"tenant":"acme","visitor":"vera","room":"shop","merchant":"shoes"}`), "id")
}

// queued is a session that waits in the queue "help".
func (a *api) queued() string {
	a.t.Helper()
	path := a.session()
	a.want(http.StatusOK, "POST", path+"/escalate", `{"queue":"help"}`)
	return path
}

// happening is an event as callers see it.
type happening struct {
	Room string `json:"room"`
	Seq  int64  `json:"seq"`
	Kind string `json:"kind"`
	By   string `json:"by"`
	Text string `json:"text"`
	At   int64  `json:"at"`
}

// id is the last part of a path.
func id(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// field returns a field of a JSON object.
func field[T any](t *testing.T, object, name string) T {
	t.Helper()
	var fields map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(object), &fields))
	var v T
	require.Contains(t, fields, name, object)
	require.NoError(t, json.Unmarshal(fields[name], &v))
	return v
}

// each calls f with 0 to n-1, all at once, and returns how often it returned each
// status.
func each(n int, f func(i int) int) map[int]int {
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		count = map[int]int{}
		ready = make(chan struct{})
	)
	for i := range n {
		wg.Go(func() {
			<-ready
			status := f(i)
			mu.Lock()
			defer mu.Unlock()
			count[status]++
		})
	}
	close(ready)
	wg.Wait()
	return count
}
