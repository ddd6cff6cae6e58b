package marker

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/cutover/internal/protocol"
	"github.com/unwatch/unwatch/internal/redisx"
)

// Step is one run of a script, on one key.
type Step struct {
	args []any
	// value of a Fill: the time that it has left is that of the moment of sending.
	value Value
}

// leftArg is the index of the time that the value of a Fill has left.
const leftArg = 7

func newStep(key, step, nonce string, args ...any) Step {
	return Step{args: append([]any{"evalsha", digest, 1, key, step, nonce}, args...)}
}

// LookAt returns the state of the key; with value, also the value of a marker that is away.
func LookAt(key string, value bool) Step {
	if value {
		return newStep(key, "look", "", "value")
	}
	return newStep(key, "look", "")
}

// Reserve makes a reservation of an absent key.
func Reserve(key string, n protocol.Nonce) Step { return newStep(key, "reserve", text(n)) }

// Seal makes a marker of an open key, and returns the value, unless it has more than limit bytes.
func Seal(key string, n, other protocol.Nonce, limit int) Step {
	return newStep(key, "seal", text(n), text(other), limit)
}

// Fill replaces the marker n by the value. The time between the read of the value and the send of the step does not
// count as time to live.
func Fill(key string, n protocol.Nonce, v Value) Step {
	args := make([]any, 0, 2+len(v.Data))
	args = append(args, v.Type, v.left())
	for _, d := range v.Data {
		args = append(args, d)
	}
	step := newStep(key, "fill", text(n), args...)
	step.value = v
	return step
}

// Mark says that the value has arrived in the other store.
func Mark(key string, n protocol.Nonce) Step { return newStep(key, "mark", text(n)) }

// Unseal replaces the marker n by its value.
func Unseal(key string, n protocol.Nonce) Step { return newStep(key, "unseal", text(n)) }

// Touch writes the marker n as it is: the server refuses that if it is full.
func Touch(key string, n protocol.Nonce) Step { return newStep(key, "touch", text(n)) }

// Unreserve deletes the reservation n.
func Unreserve(key string, n protocol.Nonce) Step { return newStep(key, "unreserve", text(n)) }

// Fields looks for fields with an expiry. It changes nothing.
func Fields(key string) Step { return newStep(key, "fields", "") }

func (s Step) key() string { return s.args[3].(string) }

// source is the step with the text of the script.
func (s Step) source() Step {
	return Step{args: append([]any{"eval", source}, s.args[2:]...), value: s.value}
}

// command does not let the client repeat the step: its caller looks first.
func (s Step) command(ctx context.Context) *redisx.Command {
	if s.value.Left > 0 {
		s.args[leftArg] = s.value.left()
	}
	return &redisx.Command{Cmd: redis.NewCmd(ctx, s.args...)}
}

func lookOf(cmd *redisx.Command) (Look, error) {
	reply, err := cmd.Slice()
	if err != nil {
		return Look{}, err
	}
	look, ok := parse(reply)
	if met := look.Seal; met != nil && ok {
		return look, met.Check()
	}
	if args := cmd.Args(); len(args) > 6 && args[6] == "value" && look.Kind == protocol.Away { // else it has no value
		ok = ok && look.Value.whole()
	}
	if !ok {
		return Look{}, errMarker
	}
	return look, nil
}

// Reply is the reply to one Step.
type Reply struct {
	Look Look
	Err  error
}

// Do sends the steps in one pipeline. A second pipeline repeats, with the text of the script, the
// steps that a server refused for lack of it. The order in which steps are executed is not
// defined: a proxy may change it.
//
// Steps to which the server says that it cannot serve are sent again, on another connection, for up to 3 s.
func (c Client) Do(ctx context.Context, steps []Step) []Reply {
	replies := make([]Reply, len(steps))
	for i, cmd := range c.do(ctx, steps) {
		replies[i].Look, replies[i].Err = lookOf(cmd.Command)
		replies[i].Look.Value.read = cmd.at
	}
	return replies
}

// answered is a command with its reply, and when that arrived.
type answered struct {
	*redisx.Command
	at time.Time
}

func (c Client) do(ctx context.Context, steps []Step) []answered {
	cmds := c.doOnce(ctx, steps)
	for o := (redisx.Outage{}); ; {
		var away []int
		for i, cmd := range cmds {
			if redisx.LeadsElsewhere(cmd.Err()) {
				away = append(away, i)
			}
		}
		if len(away) == 0 {
			return cmds
		}
		redisx.Drop(ctx, c, steps[away[0]].key(), true)
		if !o.Another(ctx, cmds[away[0]].Err()) {
			return cmds
		}
		again := make([]Step, len(away))
		for n, i := range away {
			again[n] = steps[i]
		}
		for n, cmd := range c.doOnce(ctx, again) {
			cmds[away[n]] = cmd
		}
	}
}

func (c Client) doOnce(ctx context.Context, steps []Step) []answered {
	var again []int
	cmds := c.pipeline(ctx, steps)
	for i, cmd := range cmds {
		if redisx.IsNoScript(cmd.Err()) {
			again = append(again, i)
		}
	}
	if len(again) == 0 {
		return cmds
	}
	sources := make([]Step, len(again))
	for n, i := range again {
		sources[n] = steps[i].source()
	}
	for n, cmd := range c.pipeline(ctx, sources) {
		cmds[again[n]] = cmd
	}
	return cmds
}

func (c Client) pipeline(ctx context.Context, steps []Step) []answered {
	pipe := c.Pipeline()
	cmds := make([]answered, len(steps))
	for i, step := range steps {
		cmds[i].Command = step.command(ctx)
		_ = pipe.Process(ctx, cmds[i].Command) // queues it
	}
	if _, err := pipe.Exec(ctx); err != nil {
		for _, cmd := range cmds {
			if cmd.Err() == nil && cmd.Val() == nil {
				cmd.SetErr(err) // a client over several servers may not set it
			}
		}
	}
	for i := range cmds {
		cmds[i].at = time.Now()
	}
	return cmds
}
