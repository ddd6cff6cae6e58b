// Legacy-service is a small customer-service back end: chat rooms, sessions of
// visitors with agents, and the agents. It sits behind a gateway that knows who is
// who, and keeps its state in Redis.
//
// It is written the old way, on purpose: this is where a migration starts. On a
// plain Redis it is right. Five of its habits do not survive a Codis-style proxy:
//
//   - the WATCH helper under every update (watch.go);
//   - transactions over several keys: a session and its agents (assignment.go), a
//     session and the index of its tenant (sessions.go), a room and its timeline
//     (rooms.go);
//   - a Lua script over several keys, which a proxy sends to the server of the
//     first: the one habit that fails without an error (queues.go);
//   - PUBLISH inside the transaction, and SUBSCRIBE (events.go);
//   - WATCH under what only reads, and MULTI around a single command: they protect
//     nothing, and are refused all the same (queues.go).
//
// docs/migration.md takes it across, one small step after the other.
//
// It needs no server to try:
//
//	go run ./examples/legacy-service
//	curl -d '{"id":"lobby","tenant":"acme","owner":"ada","cap":10}' localhost:8080/rooms
//	curl -N localhost:8080/rooms/lobby/events &
//	curl -d '{"from":"ada","text":"hello"}' localhost:8080/rooms/lobby/messages
//
// http.go lists what else it answers to.
package main

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "`ADDRESS` to serve HTTP on")
	server := flag.String("redis", "", "`URL` of a Redis, 6.0 or later: redis://HOST:PORT; empty for one in this process")
	flag.Parse()
	if err := run(*listen, *server); err != nil {
		slog.Error("legacy-service ends", "err", err)
		os.Exit(1)
	}
}

// run serves until a signal ends it.
func run(listen, server string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	if server == "" {
		embedded, err := miniredis.Run()
		if err != nil {
			return err
		}
		defer embedded.Close()
		server = "redis://" + embedded.Addr()
		slog.Warn("no -redis: using one in this process, which forgets everything when it ends")
	}
	options, err := redis.ParseURL(server)
	if err != nil {
		return errors.New("-redis is not a URL like redis://HOST:PORT") // err may hold a password
	}
	options.ContextTimeoutEnabled = true
	rdb := redis.NewClient(options)
	defer func() { _ = rdb.Close() }()

	ln, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	slog.Info("serving", "http", ln.Addr().String(), "redis", options.Addr)
	return serve(ctx, ln, newService(rdb, time.Now))
}

// serve answers until ctx ends, and then lets requests finish.
func serve(ctx context.Context, ln net.Listener, s *service) error {
	srv := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      10 * time.Second,
		IdleTimeout:       2 * time.Minute,
	}
	srv.RegisterOnShutdown(s.stop)
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(ln) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return srv.Shutdown(grace)
}
