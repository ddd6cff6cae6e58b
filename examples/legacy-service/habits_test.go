package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// What the package comment says of a Codis-style proxy. This test goes with the last
// of the habits.
func TestOldHabitsBehindAProxy(t *testing.T) {
	proxy, err := proxytest.Start(proxytest.Config{Engines: 4})
	require.NoError(t, err)
	defer proxy.Close()
	rdb := redis.NewClient(proxycompat.Options(proxycompat.Codis32(), proxy.Addr()))
	defer rdb.Close()
	s := newService(rdb, time.Now)
	srv := httptest.NewServer(s)
	defer srv.Close()
	defer s.stop()
	a := &api{t: t, url: srv.URL, client: srv.Client()}

	a.want(http.StatusNotFound, "GET", "/rooms/7", "") // a command with one key is all right
	a.want(http.StatusServiceUnavailable, "PUT", "/agents/ben", `{"status":"online"}`)
	a.want(http.StatusServiceUnavailable, "POST", "/rooms", `{"id":"7","tenant":"acme","owner":"ada"}`)
	a.want(http.StatusServiceUnavailable, "GET", "/rooms/7/events", "")

	// The script, on the other hand, runs: where its first key is. Whoever waits
	// elsewhere waits in vain.
	here, there := "help", ""
	for i := 0; there == ""; i++ {
		if q := fmt.Sprint("vip", i); proxy.BackendOf(queueKey(q)) != proxy.BackendOf(queueKey(here)) {
			there = q
		}
	}
	require.NoError(t, rdb.ZAdd(t.Context(), queueKey(there), redis.Z{Member: "a session"}).Err())
	a.want(http.StatusNoContent, "POST", "/agents/ben/next", fmt.Sprintf(`{"queues":[%q,%q]}`, here, there))
}
