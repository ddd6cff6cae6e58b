package operate

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/cutover/internal/mover"
	"github.com/unwatch/unwatch/cutover/internal/names"
	"github.com/unwatch/unwatch/cutover/internal/protocol"
	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// gateApart is the first gate of a Preflight. Without it, no advice about keys is right.
const gateApart = "two stores"

const (
	// probesPerMaster is how many probe keys a Preflight writes per master: each master that serves a fair
	// share of the names has one of them, except once in e^64 times.
	probesPerMaster = 64
	// probeLife is the expiry of a probe key, in case its DEL is lost.
	probeLife = time.Minute
)

var (
	masterFields = [2]string{"SweepConfig.Masters (-old-masters)", "SweepConfig.NewMasters (-new-masters)"}
	proxyFields  = [2]string{"SweepConfig.Proxies (-old)", "SweepConfig.NewProxies (-new)"}
)

// errApart is a wrong set-up that a probe key has shown.
type errApart struct{ have, do string }

func (e errApart) Error() string { return e.have }

// CheckStores returns an error unless the first condition of [Preflight] is met: the stores are two, and the
// Masters and Proxies of cfg are those of their store. Call it before a Sweep or a Verify, which believe cfg. It writes
// the probe keys of a Preflight, and waits for a store that is away for up to cfg.MaxOutage.
func CheckStores(ctx context.Context, store *cutover.Store, cfg SweepConfig) error {
	s := of(store)
	err := s.Invalid
	if err == nil {
		err = s.Gate.Enter()
	}
	if err != nil {
		return redisx.Fail("cutover", "check stores", rmw.Key{}, 0, err)
	}
	defer s.Gate.Leave()
	away := newOutage(cfg, new(Scanned))
	err = s.checkApart(ctx, cfg)
	for away.another(ctx, err) {
		err = s.checkApart(ctx, cfg)
	}
	if err == nil {
		return nil
	}
	if wrong, ok := errors.AsType[errApart](err); ok {
		err = fmt.Errorf("%w: %s: %s", rmw.ErrInvalid, wrong.have, wrong.do)
	}
	return redisx.Fail("cutover", "check stores", rmw.Key{}, 0, redisx.Blame(ctx, err))
}

// apart is the condition that the sides are different stores, that both clients of a Side are of one store,
// and that the masters are those of their side. It writes probe keys and deletes them.
func (s operator) apart(ctx context.Context, cfg SweepConfig) Gate {
	g := Gate{Name: gateApart, Have: "different", Need: "different servers", State: GateOpen}
	if err := s.checkApart(ctx, cfg); err != nil {
		wrong := errApart{"not seen", redisx.WithoutArguments(err).Error() + ": permit SET, EXISTS and DEL of keys ~cutover:probe:*, and see that both stores and their masters answer"}
		_ = errors.As(err, &wrong)
		g.State, g.Have, g.Do = GateClosed, wrong.have, wrong.do
	}
	return g
}

func (s operator) checkApart(ctx context.Context, cfg SweepConfig) error {
	if err := s.probe(ctx, protocol.Old, cfg.Masters, cfg.Proxies); err != nil {
		return err
	}
	return s.probe(ctx, protocol.New, cfg.NewMasters, cfg.NewProxies)
}

// probe writes keys through the side, and looks for them through its proxies and its Store, on its masters, and in
// the other side.
func (s operator) probe(ctx context.Context, side protocol.Side, masters []Scanner, proxies []cutover.Commands) error {
	prefix := names.Prefix + "probe:" + rand.Text() + ":"
	names := make([]string, probesPerMaster*max(len(masters), 1))
	for i := range names {
		names[i] = prefix + rand.Text() // twemproxy's fnv1a_64 takes names that differ in few bytes to one server
	}
	if len(proxies) == 0 {
		proxies = []cutover.Commands{s.mover.Clients[side]}
	}
	for i, proxy := range proxies {
		seen, err := s.writeProbes(ctx, side, proxy, names)
		if err != nil {
			if len(proxies) > 1 {
				err = fmt.Errorf("number %d of %s: %w", i+1, proxyFields[side], err)
			}
			return err // keys that were written expire
		}
		defer s.deleteProbes(ctx, proxy, names)
		if i > 0 && seen < len(names) {
			return errApart{
				"a wrong address",
				fmt.Sprintf("number %d of %s lacks %d of %d keys that are written through the first one: name proxies of one store only, "+
					"and its servers in %s", i+1, proxyFields[side], len(names)-seen, len(names), masterFields[side]),
			}
		}
	}
	v, err := s.Stores[side].Read(ctx, rmw.Key{Name: names[0]})
	switch {
	case err != nil:
		return fmt.Errorf("the %v store: %w", side, err)
	case !v.Exists():
		return errApart{
			"a wrong client",
			fmt.Sprintf("the Store of the %v Side does not have the keys of its Redis: give both the same servers", side),
		}
	}
	if err = s.onMasters(ctx, side, masters, names, prefix); err != nil {
		return err
	}
	other := s.mover.Clients[side.Other()]
	seen, err := s.writeProbes(ctx, side.Other(), other, names)
	if err != nil {
		return err
	}
	defer s.deleteProbes(ctx, other, names)
	if seen > 0 {
		return errApart{
			"one store",
			fmt.Sprintf("%d of %d keys that are written through the %v store are in the %v one, too: use another server for one of them, and "+
				"delete nothing, for such a key has one copy only", seen, len(names), side, side.Other()),
		}
	}
	return nil
}

// writeProbes writes the keys that do not exist, and returns how many do. A write is never answered by a replica.
func (s operator) writeProbes(ctx context.Context, side protocol.Side, client pipeliner, names []string) (seen int, err error) {
	cmds, err := s.inPipeline(ctx, client, names, "set", "cutover", "px", probeLife.Milliseconds(), "nx")
	for _, cmd := range cmds {
		if errors.Is(cmd.Err(), redis.Nil) {
			seen++
		}
	}
	if err != nil {
		err = fmt.Errorf("the %v store: %w", side, err)
	}
	return seen, err
}

// deleteProbes deletes the keys. Those of a DEL that fails expire.
func (s operator) deleteProbes(ctx context.Context, client pipeliner, names []string) {
	_, _ = s.inPipeline(ctx, client, names, "del")
}

// onMasters looks for the keys on the masters of the side. Each key is on one of them, and each of them has keys.
func (s operator) onMasters(ctx context.Context, side protocol.Side, masters []Scanner, names []string, prefix string) error {
	if len(masters) == 0 {
		return nil
	}
	found := map[string]bool{}
	for i, master := range masters {
		here, err := s.probesOn(ctx, master, names, prefix)
		switch {
		case err != nil:
			return fmt.Errorf("number %d of %s: %w", i+1, masterFields[side], err)
		case len(here) == 0:
			return errApart{
				"a wrong master",
				fmt.Sprintf("number %d of %s has no key that is written through the %v store: leave it out, or give it slots there",
					i+1, masterFields[side], side),
			}
		}
		for _, name := range here {
			found[name] = true
		}
	}
	if missing := len(names) - len(found); missing > 0 {
		return errApart{
			"a missing master",
			fmt.Sprintf("%d of %d keys of the %v store are on no master: name each of its masters in %s", missing, len(names), side, masterFields[side]),
		}
	}
	return nil
}

// probesOn returns the keys that the master has. It scans one that has no pipelines.
func (s operator) probesOn(ctx context.Context, master Scanner, names []string, prefix string) (here []string, err error) {
	if client, ok := master.(redis.Cmdable); ok {
		cmds, err := s.inPipeline(ctx, client, names, "exists")
		for i, cmd := range cmds {
			if n, _ := cmd.Int(); n > 0 {
				here = append(here, names[i])
			}
		}
		if err != nil && strings.HasPrefix(err.Error(), "MOVED ") { // a node of a cluster has some of them
			err = nil
		}
		return here, err
	}
	for cursor := uint64(0); ; {
		scan, err := mover.Await(ctx, s.Gate, func(ctx context.Context) *redis.ScanCmd {
			return master.Scan(ctx, cursor, prefix+"*", 1000)
		})
		if err != nil {
			return here, err
		}
		page, next, err := scan.Result()
		for _, name := range page {
			if strings.HasPrefix(name, prefix) {
				here = append(here, name)
			}
		}
		if cursor = next; err != nil || cursor == 0 {
			return here, err
		}
	}
}

// pipeliner is a client that has pipelines.
type pipeliner interface{ Pipeline() redis.Pipeliner }

// inPipeline sends the command for each name once: a SET NX that is repeated would see its own key. It
// returns the first error that is not a nil reply.
func (s operator) inPipeline(ctx context.Context, client pipeliner, names []string, command string, args ...any) (
	[]*redisx.Command, error,
) {
	var cmds []*redisx.Command
	for _, name := range names {
		cmds = append(cmds, &redisx.Command{Cmd: redis.NewCmd(ctx, append([]any{command, name}, args...)...)})
	}
	if _, err := mover.Await(ctx, s.Gate, func(ctx context.Context) error {
		pipe := client.Pipeline()
		for _, cmd := range cmds {
			_ = pipe.Process(ctx, cmd) // queues it
		}
		_, err := pipe.Exec(ctx) // each command has its error
		return err
	}); err != nil {
		return nil, err // the commands are still in flight
	}
	for _, cmd := range cmds {
		if one := cmd.Err(); one != nil && !errors.Is(one, redis.Nil) {
			return cmds, one
		}
	}
	return cmds, nil
}
