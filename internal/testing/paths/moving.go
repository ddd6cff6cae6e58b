package paths

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/internal/testing/contract"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// Flips is a Source that answers at random, for each call of each process.
type Flips struct {
	Thawed bool // it never answers a stage that is frozen: an update of several keys may be refused then
}

// Stage implements [cutover.Source].
func (f Flips) Stage(context.Context) (cutover.Stage, error) {
	return []cutover.Stage{
		{Phase: cutover.Follow},
		{Phase: cutover.Copying, Percent: 100},
		{Phase: cutover.Copying, Percent: 50, Freeze: !f.Thawed},
		{Phase: cutover.Reverse},
	}[rand.IntN(4)], nil
}

// Moving is a cut-over from a Redis to a Codis proxy over two servers.
func Moving(t testing.TB, stage cutover.Source) rmwtest.Target {
	var proxies [2]*proxytest.Proxy
	for i, profile := range []*proxycompat.Profile{proxycompat.Redis(), proxycompat.Codis32()} {
		p, err := proxytest.Start(proxytest.Config{Profile: profile, Engines: i + 1, InMemory: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
		proxies[i] = p
	}
	open := func(stage cutover.Source, direct bool) mover {
		var m mover
		var sides [2]cutover.Side
		for i, p := range proxies {
			options, cfg := p.Options(), lockupdate.Config{}
			if direct {
				options, cfg.LockName = p.CalmOptions(), func(key string) string { return "/direct/" + key }
			}
			rdb := redis.NewClient(options)
			rdb.AddHook(distance{direct})
			store := lockupdate.New(rdb, cfg)
			sides[i] = cutover.Side{Store: store, Redis: rdb}
			m.sides = append(m.sides, store)
			t.Cleanup(func() { _ = rdb.Close() })
		}
		m.Store = cutover.New(sides[0], sides[1], cutover.Config{Stage: stage})
		t.Cleanup(func() { _ = m.Close() })
		return m
	}
	return rmwtest.Target{
		Open:   func() rmw.Store { return open(stage, false) },
		Direct: AtHome{open(cutover.Stage{}, true).Store},
		Faults: Faults{Proxies: proxies[:]},
		// A Transact that moves its keys sends many commands, each of which hangs once, and Close waits 5 s for it.
		Patience: 15 * time.Minute,
	}
}

// mover is all that a process of a cut-over opens.
type mover struct {
	*cutover.Store
	sides []io.Closer
}

// Close closes the Store, then those of both sides.
func (m mover) Close() error {
	errs := []error{m.Store.Close()}
	for _, s := range m.sides {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// distance lets a flush take a while, so that no two events are of the same moment of the fake time. It
// spells commands of direct as package contract does, so that faults leave them alone.
type distance struct{ direct bool }

func (d distance) pass(cmds ...redis.Cmder) {
	time.Sleep(20 * time.Microsecond)
	for _, cmd := range cmds {
		if name, ok := cmd.Args()[0].(string); ok && d.direct {
			cmd.Args()[0] = contract.Mark(name)
		}
	}
}

func (distance) DialHook(next redis.DialHook) redis.DialHook { return next }

func (d distance) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		d.pass(cmd)
		return next(ctx, cmd)
	}
}

func (d distance) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		d.pass(cmds...)
		return next(ctx, cmds)
	}
}

// AtHome writes at the home of a key. Its Store's locks must be its own, so that it writes past those of
// other processes, as a legacy service does with WATCH.
type AtHome struct{ Store *cutover.Store }

var kinds = []rmw.Kind{rmw.KindString, rmw.KindHash}

// Get implements [rmwtest.Direct].
func (d AtHome) Get(ctx context.Context, name string) (v rmw.Value, left time.Duration, err error) {
	for _, kind := range kinds {
		if v, left, err = d.Store.Peek(ctx, rmw.Key{Name: name, Kind: kind}); err == nil {
			break
		}
	}
	if !v.Exists() {
		left = rmw.NoTTL
	}
	return v, left, err
}

// Set implements [rmwtest.Direct].
func (d AtHome) Set(ctx context.Context, name string, v rmw.Value, ttl time.Duration) error {
	for _, kind := range kinds { // the key may have the other kind, which a write refuses
		if kind != v.Kind() || !v.Exists() {
			_, err := d.Store.Update(ctx, rmw.Key{Name: name, Kind: kind}, replaceBy(rmw.Value{}))
			if err != nil && !errors.Is(err, rmw.ErrWrongKind) {
				return err
			}
		}
	}
	if !v.Exists() {
		return nil
	}
	_, err := d.Store.Update(ctx, rmw.Key{Name: name, Kind: v.Kind()}, replaceBy(v.WithTTL(ttl)))
	return err
}

func replaceBy(v rmw.Value) rmw.UpdateFunc {
	return func(context.Context, rmw.Value) (rmw.Value, error) { return v, nil }
}

// Append implements [rmwtest.Direct].
func (d AtHome) Append(ctx context.Context, key rmw.Key, id string) error {
	_, err := d.Store.Update(ctx, key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		if key.Kind == rmw.KindHash {
			return cur.With(id, "x"), nil
		}
		return rmw.String(cur.Text() + id + ","), nil
	})
	return err
}

// Faults counts the commands to several proxies together.
type Faults struct {
	Proxies []*proxytest.Proxy
	// HangFor is the time after which the connection of a hanging command is cut; 0 is never.
	HangFor time.Duration
}

// Arm implements [rmwtest.Faults].
func (f Faults) Arm(n int, fault rmwtest.Fault) (stop func() bool) {
	if fault.Kind == rmwtest.Hang {
		fault.Delay = f.HangFor
	}
	var seen atomic.Int64
	var stops []func() bool
	for _, p := range f.Proxies {
		stops = append(stops, contract.Arm(p, fault, func() bool { return seen.Add(1) == int64(n) }))
	}
	return func() (struck bool) {
		for _, stop := range stops {
			struck = stop() || struck
		}
		return struck
	}
}
