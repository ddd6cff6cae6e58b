package torture

import (
	"context"
	"errors"
	"time"

	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// inTheProxy returns the faults of Codis itself. They must lose nothing.
func inTheProxy() []Nemesis {
	return []Nemesis{
		{Name: "codis-move", About: "a slot in use moves to the other server, in each of Codis' two ways, key by key, with a rest of up to three leases",
			every: 30 * time.Millisecond, needs: codis, least: 2 * time.Second, inject: codisMove},
		{Name: "codis-down", About: "the proxy loses a server for up to two leases: commands in flight are answered by an error, carried out or not",
			every: 100 * time.Millisecond, needs: codis,
			inject: func(ctx context.Context, c *injection) error {
				backend, d := c.rng.IntN(c.codis.Backends()), within(c.rng, time.Millisecond, 2*lease)
				c.note("the proxy is disconnected from server %d for %v", backend, d)
				c.codis.Down(backend)
				_ = pause(ctx, d)
				c.codis.Up(backend)
				return nil
			}},
		{Name: "codis-sleep", About: "a server hangs for up to three leases: its commands are answered by errors, and carried out when it wakes up, in no order",
			every: 200 * time.Millisecond, needs: codis,
			inject: func(ctx context.Context, c *injection) error {
				backend, d := c.rng.IntN(c.codis.Backends()), within(c.rng, 10*time.Millisecond, 3*lease)
				c.note("server %d hangs for %v", backend, d)
				c.codis.Sleep(backend)
				_ = pause(ctx, d)
				c.codis.Wake(backend)
				// Thousands of commands pass in that time, since the fleet gets an error for each at once.
				// The next fault waits until the fleet works again.
				_ = c.awaitCalm(ctx)
				return nil
			}},
		{Name: "codis-late", About: "a command is answered by an error, or by the end of its connection, and carried out up to two leases later",
			every: 10 * time.Millisecond, needs: codis,
			inject: func(ctx context.Context, c *injection) error {
				f := proxytest.Fault{Action: proxytest.ExecuteLater, Delay: within(c.rng, time.Millisecond, 2*lease)}
				if c.rng.IntN(2) == 0 {
					f.Text = lostReply
				}
				return c.faulty(ctx, f)
			}},
		{Name: "codis-faults", About: "in the middle of pipelines commands or replies are swallowed, cut, delayed, never answered or refused",
			every: 10 * time.Millisecond, needs: codis,
			inject: func(ctx context.Context, c *injection) error {
				actions := []proxytest.Action{
					proxytest.DropReply, proxytest.DropRequest, proxytest.HangReply, proxytest.HangRequest,
					proxytest.Delay, proxytest.DelayReply, proxytest.RefuseWith,
				}
				f := proxytest.Fault{Action: actions[c.rng.IntN(len(actions))], Keep: c.rng.IntN(20)}
				switch f.Action {
				case proxytest.Delay, proxytest.DelayReply:
					f.Delay = within(c.rng, 0, 2*lease)
				case proxytest.RefuseWith:
					f.Text = lostReply
				}
				return c.faulty(ctx, f)
			}},
	}
}

// lostReply is Codis' error when the connection to a server has ended. The command may have been executed.
const lostReply = "ERR handle response, backend conn failure, EOF"

// faulty lets some commands pass and applies a fault to the next one.
func (c *injection) faulty(ctx context.Context, f proxytest.Fault) error {
	f.Skip = c.rng.IntN(8)
	c.note("after %d commands: %v %v %q", f.Skip, f.Action, f.Delay, f.Text)
	remove := c.codis.Inject(f)
	_ = pause(ctx, within(c.rng, time.Millisecond, 50*time.Millisecond))
	remove()
	return nil
}

// codisMove migrates the slot of a key in use. Meanwhile commands move keys.
func codisMove(ctx context.Context, c *injection) error {
	key, err := c.keyInUse(ctx)
	if err != nil || key == "" {
		return err
	}
	slot, _ := c.codis.Slot(key) // Codis has slots
	to := (c.codis.BackendOf(key) + 1) % c.codis.Backends()
	method := [...]proxytest.Method{proxytest.Sync, proxytest.SemiAsync}[c.rng.IntN(2)]
	took, rest := within(c.rng, 0, lease/3), within(c.rng, 0, 3*lease)
	c.note("slot %d of %s migrates to server %d, by method %d with %v for a key, with a pause of %v", slot, key, to, method, took, rest)
	move, err := c.codis.MoveSlot(slot, to, method)
	if err != nil {
		return err
	}
	_ = pause(ctx, rest/2)
	for left := true; left && err == nil && ctx.Err() == nil; {
		left, err = move.Step(took)
	}
	_ = pause(ctx, rest/2)
	return errors.Join(err, move.Finish())
}
