// Package spelled has the names of commands in other places than where they are sent.
package spelled

import (
	"context"

	"github.com/gomodule/redigo/redis"
	goredis "github.com/redis/go-redis/v9"
)

type step struct {
	name string
	args []any
}

var steps = []step{{"MULTI", nil}, {name: "SET", args: []any{"k", 1}}, {name: "EXEC"}}

func fields(c redis.Conn) {
	for _, s := range steps {
		c.Send(s.name, s.args...) // want `^MULTI or EXEC or UNWATCH through .*MC103`
	}
	for _, s := range []struct{ command string }{{"DISCARD"}} {
		c.Send(s.command) // want `DISCARD.*MC103`
	}
	one(c, &step{name: "UNWATCH"})
}

func one(c redis.Conn, s *step) { c.Do(s.name) } // want `MULTI or EXEC or UNWATCH.*MC103`

type verb string

type request struct{ verb verb }

func typed(c redis.Conn) {
	r := request{"WATCH"}
	c.Send(string(r.verb), "k") // want `WATCH.*MC103`
}

// A field that everybody may set is not known, but for what is set here.
type Settings struct{ Begin, Other string }

var Begin = "MULTI"

func shared(c redis.Conn, s Settings) {
	s.Begin = "WATCH"
	c.Send(s.Begin) // want `WATCH.*MC103`
	c.Send(s.Other)
	c.Send(Begin) // want `MULTI.*MC103`
}

func lists(ctx context.Context, c redis.Conn, rdb *goredis.Client, i int, key string) {
	names := map[string]string{"begin": "MULTI", "read": "GET"}
	c.Send(names["begin"]) // want `^MULTI through.*MC103`
	c.Send(names["read"])
	c.Send(names[key]) // want `MULTI.*MC103`
	for _, name := range names {
		c.Send(name) // want `MULTI.*MC103`
	}
	for name := range map[string]int{"WATCH": 1} {
		c.Send(name, "k") // want `WATCH.*MC103`
	}
	list := []string{"SET", "WATCH", "GET"}
	c.Send(list[0], "k", 1)
	c.Send(list[1], "k") // want `WATCH.*MC103`
	c.Send(list[2], "k")
	c.Send(list[i]) // want `WATCH.*MC103`
	more := append(list, "EXEC")
	for _, name := range more {
		c.Send(name) // want `WATCH or EXEC.*MC103`
	}
	many := [][]any{{"MULTI"}, {"SET", "WATCH", 1}, {"EXEC"}}
	for _, words := range many {
		rdb.Do(ctx, words...)                   // want `^MULTI or EXEC.*MC103`
		c.Send(words[0].(string), words[1:]...) // want `^MULTI or EXEC.*MC103`
	}
}

func (s step) begin() string {
	switch s.name {
	case "guarded":
		return "WATCH"
	}
	return "MULTI"
}

func end(commit bool) string {
	if commit {
		return "EXEC"
	}
	return "DISCARD"
}

func prefixed(name string) string { return name }

func results(c redis.Conn, s step, commit bool) {
	c.Send(s.begin())     // want `WATCH or MULTI.*MC103`
	c.Do(end(commit))     // want `EXEC or DISCARD.*MC103`
	c.Do(prefixed("GET")) // what it is given is not followed
	undo := ""
	if !commit {
		undo = "UN"
	}
	c.Do(undo + "WATCH") // want `WATCH or UNWATCH.*MC103`
}
