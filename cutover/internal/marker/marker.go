// Package marker sends the steps of a move to one store, as a script on one key.
package marker

import (
	"context"
	_ "embed" // the script
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/cutover/internal/protocol"
	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/internal/seal"
	"github.com/unwatch/unwatch/rmw"
)

//go:embed marker.lua
var source string

var digest = redis.NewScript(source).Hash()

// Value is a value on its way: its type, the milliseconds it has left (-1: no expiry), and the
// string, or the fields and values of the hash.
type Value struct {
	Type string
	Left int64
	Data []string

	// read is when the reply with Left arrived.
	read time.Time
}

// left returns the milliseconds that the value has left now, by the clock of this process since the
// reply: that is never less than the server's own count.
func (v Value) left() int64 {
	if v.Left < 0 {
		return v.Left
	}
	return max(v.Left-time.Since(v.read).Milliseconds(), 0)
}

// Look is the state of a key in one store.
type Look struct {
	protocol.Look
	// Type of an open key, as the command TYPE names it: "none" if the key is absent.
	Type string
	// Seal of an update of several keys. The key is open, with the value that the seal holds, until the update is
	// decided. No step changes it.
	Seal *seal.Met
	// Value of a sealed key.
	Value Value
	// TooLarge is the size of a value that was not sealed.
	TooLarge int64
	// FieldExpiry says that the value is a hash that was not sealed, because its fields have an expiry.
	FieldExpiry bool
}

// Commands sends a command, or several in one pipeline.
type Commands interface {
	Process(ctx context.Context, cmd redis.Cmder) error
	Pipeline() redis.Pipeliner
}

// Client sends steps to one store.
type Client struct{ Commands }

// Marker is the marker of a key.
type Marker struct {
	Key   string
	Nonce protocol.Nonce
}

// Confirm writes the markers as they are and waits until the replicas have them, but no longer than
// limit. It returns the state of each key, or as its error what tooFew returns for the number of
// replicas. WAIT counts for the connection that wrote, so both are one pipeline to each server.
func (c Client) Confirm(ctx context.Context, markers []Marker, replicas int, limit time.Duration, tooFew func(got int) error) []Reply {
	replies := make([]Reply, len(markers))
	of := map[*redis.Client][]int{}
	for i, m := range markers {
		server, err := c.serverOf(ctx, m.Key)
		if replies[i].Err = err; err == nil {
			of[server] = append(of[server], i)
		}
	}
	for server, indices := range of {
		pipe := c.Pipeline()
		if server != nil {
			pipe = server.Pipeline()
		}
		touches := make([]*redisx.Command, len(indices))
		for n, i := range indices {
			touches[n] = &redisx.Command{Cmd: redis.NewCmd(ctx, "eval", source, 1, markers[i].Key, "touch", text(markers[i].Nonce))}
			_ = pipe.Process(ctx, touches[n]) // queues it
		}
		wait := &redisx.Command{Cmd: redis.NewCmd(ctx, "wait", replicas, limit.Milliseconds())}
		_ = pipe.Process(ctx, wait)
		_, _ = pipe.Exec(ctx) // each command has its error
		got, err := wait.Int()
		if err == nil && got < replicas {
			err = tooFew(got)
		}
		for n, i := range indices {
			replies[i].Look, replies[i].Err = lookOf(touches[n])
			if replies[i].Err == nil {
				replies[i].Err = err
			}
		}
	}
	return replies
}

// serverOf returns a client of the server that has the key, or nil if there is only one server: a client
// of several would send a WAIT, which has no key, to any of them.
func (c Client) serverOf(ctx context.Context, key string) (*redis.Client, error) {
	switch all := c.Commands.(type) {
	case interface {
		MasterForKey(context.Context, string) (*redis.Client, error)
	}:
		return all.MasterForKey(ctx, key)
	case interface {
		GetShardClientForKey(string) (*redis.Client, error)
	}:
		return all.GetShardClientForKey(key)
	}
	return nil, nil //nolint:nilnil // one server
}

// Send sends a step: again, on another connection, while the server says that it cannot serve, for up to 3 s.
func (c Client) Send(ctx context.Context, step Step) (Look, error) {
	for o := (redisx.Outage{}); ; {
		look, err := c.sendOnce(ctx, step)
		if redisx.DropIfElsewhere(ctx, c, step.key(), false, err); !o.Another(ctx, err) {
			return look, err
		}
	}
}

func (c Client) sendOnce(ctx context.Context, step Step) (Look, error) {
	cmd := step.command(ctx)
	err := c.Process(ctx, cmd)
	if redisx.IsNoScript(err) {
		cmd = step.source().command(ctx)
		err = c.Process(ctx, cmd)
	}
	if err != nil {
		return Look{}, err
	}
	return lookOf(cmd)
}

var errMarker = fmt.Errorf("%w: the marker of the key is damaged: another program has changed it, such as by LTRIM, LSET or RPUSH. "+
	"Stop that program; LRANGE shows the rest of the marker, and GET or HGETALL in the other store the value, if it is there. "+
	"Write the right value to the old store, then delete the key in the new one", rmw.ErrWrongKind)

// whole says whether the data is a value of the type.
func (v Value) whole() bool {
	switch n := len(v.Data); v.Type {
	case "none":
		return n == 0
	case "string":
		return n == 1
	case "hash":
		return n > 0 && n%2 == 0
	}
	return false
}

func parse(reply []any) (look Look, ok bool) {
	words := make([]string, len(reply))
	for i, r := range reply {
		switch r := r.(type) {
		case string:
			words[i] = r
		case int64:
			words[i] = strconv.FormatInt(r, 10)
		default:
			return Look{}, false
		}
	}
	switch {
	case len(words) == 2 && words[0] == "open":
		look.Type = words[1]
		look.Absent = look.Type == "none"
		return look, true
	case len(words) == 3 && words[0] == "large":
		look.Type = words[1]
		look.TooLarge, _ = strconv.ParseInt(words[2], 10, 64)
		return look, look.TooLarge > 0
	case len(words) == 2 && words[0] == "fields":
		look.Type, look.FieldExpiry = words[1], true
		return look, true
	case len(words) == 2 && words[0] == "other":
		look.Seal = &seal.Met{State: words[1]}
		return look, true
	case len(words) == 4 && words[0] == "tx":
		look.Seal = &seal.Met{State: words[0], Nonce: words[1], Decision: words[2], Type: words[3]}
		look.Type = words[3]
		look.Absent = look.Type == "none"
		return look, true
	case len(words) < 5:
		return Look{}, false
	case words[0] == "sealed":
		look.Kind = protocol.Sealed
	case words[0] == "away":
		look.Kind = protocol.Away
	default:
		return Look{}, false
	}
	var ok1, ok2 bool
	look.Nonce, ok1 = nonce(words[1])
	look.For, ok2 = nonce(words[2])
	left, err := strconv.ParseInt(words[4], 10, 64)
	look.Value = Value{Type: words[3], Left: left, Data: words[5:], read: time.Now()}
	whole := look.Value.whole() || look.Kind == protocol.Away && len(look.Value.Data) == 0
	return look, ok1 && ok2 && err == nil && look.Nonce != protocol.Nonce{} && whole
}

// text returns "hop.id"; "" for the zero Nonce.
func text(n protocol.Nonce) string {
	if n == (protocol.Nonce{}) {
		return ""
	}
	return strconv.FormatUint(uint64(n.Hop), 10) + "." + strconv.FormatUint(n.ID, 36)
}

func nonce(text string) (n protocol.Nonce, ok bool) {
	if text == "" {
		return n, true
	}
	hop, id, found := strings.Cut(text, ".")
	h, err1 := strconv.ParseUint(hop, 10, 32)
	i, err2 := strconv.ParseUint(id, 36, 64)
	return protocol.Nonce{Hop: uint32(h), ID: i}, found && err1 == nil && err2 == nil
}
