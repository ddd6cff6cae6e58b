// Package hidden sends commands through functions and interfaces of its own.
package hidden

import (
	"context"
	"slices"

	redigo "github.com/gomodule/redigo/redis"
	"github.com/redis/go-redis/v9"
)

func closures(ctx context.Context, c redigo.Conn, rdb *redis.Client) {
	send := func(name string, args ...any) { c.Send(name, args...) }
	send("MULTI") // want `MULTI through hidden\.send.*MC103`
	send("GET", "WATCH")
	var run func(args ...any)
	run = func(args ...any) { rdb.Do(ctx, args...) }
	run("EXEC") // want `EXEC through hidden\.run.*MC103`
	run("GET", "EXEC")
}

type store struct {
	do    func(string, ...any) (any, error)
	watch func(context.Context, func(*redis.Tx) error, ...string) error
}

func newStore(c redigo.Conn, rdb *redis.Client) *store {
	return &store{
		do:    func(name string, args ...any) (any, error) { return c.Do(name, args...) },
		watch: rdb.Watch, // want `WATCH.*taken as a value.*MC101`
	}
}

func (s *store) use(ctx context.Context) {
	s.do("MULTI") // want `MULTI through hidden\.do.*MC103`
	s.do("GET", "WATCH")
	s.watch(ctx, nil)
}

// What comes first is the command, not what the caller gave.
func prepended(ctx context.Context, rdb *redis.Client, name string, args ...any) {
	args = append([]any{name}, args...)
	rdb.Do(ctx, args...)
}

func moved(ctx context.Context, rdb *redis.Client, name string, args ...any) {
	args = append(args, nil)
	copy(args[1:], args)
	args[0] = name
	rdb.Do(ctx, args...)
}

func cut(ctx context.Context, rdb *redis.Client, args ...any) {
	args = args[1:]
	rdb.Do(ctx, args...)
}

func inserted(ctx context.Context, rdb *redis.Client, args ...any) {
	args = slices.Insert(args, 0, any("GET"))
	rdb.Do(ctx, args...)
}

func given(ctx context.Context, rdb *redis.Client) {
	prepended(ctx, rdb, "WATCH", "k") // want `WATCH through hidden\.prepended.*MC103`
	prepended(ctx, rdb, "GET", "WATCH")
	moved(ctx, rdb, "WATCH", "k") // want `WATCH through hidden\.moved.*MC103`
	moved(ctx, rdb, "GET", "WATCH")
	cut(ctx, rdb, "WATCH", "GET")
	inserted(ctx, rdb, "WATCH")
}

func expressions(ctx context.Context, rdb *redis.Client, c redigo.Conn) {
	(*redis.Client).Watch(rdb, ctx, nil, "k") // want `WATCH.*MC101`
	redigo.Conn.Do(c, "MULTI")                // want `MULTI.*MC103`
	redigo.Conn.Do(c, "GET", "MULTI")
}

// A connection's method is given on, and called elsewhere.
func begin(do func(string, ...any) (any, error), key string) {
	do("WATCH", key) // want `WATCH through \(redis\.Conn\)\.Do.*MC103`
	then(do)
}

func then(next func(string, ...any) (any, error)) {
	next("MULTI") // want `MULTI through \(redis\.Conn\)\.Do.*MC103`
	next("GET", "EXEC")
}

func onto(emit func(string)) {
	emit("EXEC") // want `EXEC through hidden\.(emit|one).*MC103`
}

func passes(c redigo.Conn) {
	begin(c.Do, "k")
	one := func(name string) { c.Send(name) }
	onto(one)
	onto(func(name string) { c.Send(name) })
}

// Session is behind an interface, whose methods have names of their own.
type Session interface {
	Run(ctx context.Context, name string, args ...any) (any, error)
	Write(ctx context.Context, args ...any) error
}

type session struct {
	conn redigo.Conn
	rdb  *redis.Client
}

func (s *session) Run(ctx context.Context, name string, args ...any) (any, error) {
	return redigo.DoContext(s.conn, ctx, name, args...)
}

func (s *session) Write(ctx context.Context, args ...any) error { return s.rdb.Do(ctx, args...).Err() }

func promised(ctx context.Context, s Session, given string) {
	s.Run(ctx, "WATCH", "k") // want `WATCH through \(hidden\.Session\)\.Run.*MC103`
	s.Run(ctx, "GET", "WATCH")
	s.Write(ctx, "MULTI") // want `MULTI through \(hidden\.Session\)\.Write.*MC103`
	s.Run(ctx, given)
}

// Of a generic type each instance has methods of its own.
type typed[T any] struct{ conn redigo.Conn }

func (t *typed[T]) do(name string, args ...any) { t.conn.Do(name, args...) }

func (t *typed[T]) begin() { t.do("MULTI") } // want `MULTI.*MC103`

func instance(t *typed[int]) { t.do("EXEC") } // want `EXEC.*MC103`

func generic[T redis.Cmdable](rdb T) { rdb.TxPipeline() } // want `MC102`

// A command that is sent, whatever else is done to it.
func processed(ctx context.Context, rdb *redis.Client) *redis.Cmd {
	cmd := redis.NewCmd(ctx, "DISCARD") // want `DISCARD through redis\.NewCmd.*MC103`
	if err := rdb.Process(ctx, cmd); err != nil {
		cmd.SetErr(err)
	}
	return cmd
}
