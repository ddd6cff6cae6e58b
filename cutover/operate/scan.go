package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/cutover/internal/mover"
	"github.com/unwatch/unwatch/cutover/internal/names"
	"github.com/unwatch/unwatch/cutover/internal/protocol"
	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/internal/seal"
	"github.com/unwatch/unwatch/rmw"
)

// Scanner is a client of one server. *redis.Client has it. The client of a cluster is refused: its
// SCAN asks a server at random.
type Scanner interface {
	Scan(ctx context.Context, cursor uint64, match string, count int64) *redis.ScanCmd
}

// SweepConfig says which keys a Sweep or a Verify visits, and how fast.
type SweepConfig struct {
	// Masters are clients of every master of the old store. A pass in either direction scans the
	// old store: each key that has moved has its marker there. INFO of a master, if it is permitted, tells a restart.
	Masters []Scanner
	// NewMasters are clients of every master of the new store, past its proxy. A pass scans them for
	// names that the old store does not have: keys without a marker, and markers whose key has expired.
	// Default: it does not. [Ready] needs them for Complete.
	NewMasters []Scanner
	// Proxies has a client of each address of the old store, if Side.Redis has several: see proxycompat.RoundRobinDialer.
	// Preflight and CheckStores see that all of them lead to one store. Nothing else uses them. NewProxies is the same
	// for the new store. Default: Side.Redis has one address.
	Proxies, NewProxies []cutover.Commands
	// Keys chooses a key by its name, and gives its Label. Names that begin with "~cutover:", with the
	// "~shadow:" of package shadow, or with the "~tx:" of updates of several keys, are never asked for. Default: every key, without a Label, except names that begin with "/lock/",
	// "/fence/" or "/wait/", the keys of package lockupdate's locks.
	Keys func(name string) (key rmw.Key, ok bool)
	// Foreign says that no process of the cut-over uses the name, such as a key of another service. A
	// pass leaves it alone. [Ready] refuses Complete while Keys leaves out a name that is not Foreign.
	// Default: no name is.
	Foreign func(name string) bool
	// Batch is how many keys share a pipeline. A larger batch is faster, and each of its keys is
	// without a home for longer. Up to 2 batches are in flight at once while the pass is slower than
	// Rate, and their values are in memory. Default 16.
	Batch int
	// Rate is the greatest number of keys per second. Default: no limit.
	Rate int
	// MaxLatency is the round trip of a single-key script above which a pass halves its rate. It
	// measures one round trip to each store per batch. Default 0: it does not measure.
	MaxLatency time.Duration
	// Slow, if set, is asked once per batch: the pass also halves its rate while it returns true.
	Slow func() bool
	// MaxOutage is how long a pass waits for a store that cannot be reached or cannot serve, such as while
	// a server or proxy restarts. The pass sends the commands again meanwhile, and goes on where it was. After
	// that time the keys are Failed. Default 30 s; a negative value: it does not wait.
	MaxOutage time.Duration
	// Names is how many names each [Keys] of a result has at most, and each Gate of a Preflight. Default 10; a negative
	// value: every one, in memory.
	Names int
}

// VerifyConfig tunes a [Verify] as a [SweepConfig] does a [Sweep].
type VerifyConfig = SweepConfig

func (c *SweepConfig) validate(side protocol.Side) error {
	if side == protocol.Old && len(c.Masters) == 0 {
		return fmt.Errorf("%w: SweepConfig.Masters is empty; give a client of every master of the old store", rmw.ErrInvalid)
	}
	for _, m := range slices.Concat(c.Masters, c.NewMasters) {
		switch m.(type) {
		case *redis.ClusterClient, *redis.Ring:
			return fmt.Errorf("%w: SweepConfig.Masters has a %T, whose SCAN asks one server at random; give a client of each master",
				rmw.ErrInvalid, m)
		}
		if redisx.IsNil(m) {
			return fmt.Errorf("%w: SweepConfig.Masters has a nil client", rmw.ErrInvalid)
		}
	}
	if c.Batch < 0 || c.Rate < 0 || c.MaxLatency < 0 {
		return fmt.Errorf("%w: SweepConfig: Batch is %d, Rate %d and MaxLatency %v; use positive values, or 0 for the defaults",
			rmw.ErrInvalid, c.Batch, c.Rate, c.MaxLatency)
	}
	c.Batch = cmp.Or(c.Batch, 16)
	if c.Keys == nil {
		c.Keys = exceptLocks
	}
	return nil
}

func exceptLocks(name string) (rmw.Key, bool) { return rmw.Key{Name: name}, !ofLocks(name) }

// ofLocks says whether the key is one of package lockupdate's locks.
func ofLocks(name string) bool {
	return slices.ContainsFunc([]string{"/lock/", "/fence/", "/wait/"}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// Keys counts keys, and names the first of them.
type Keys struct {
	Count int
	// Names has at most SweepConfig.Names elements.
	Names []string
}

// Scanned counts the keys of a pass. SCAN may return a name twice.
type Scanned struct {
	// Cutover is the name of the cut-over, if the Source is [cutover.FromKey].
	Cutover string
	// Epoch of the Stage during the pass, 0 if it changed meanwhile.
	Epoch uint64
	// Masters counts the masters of the old store that were scanned to the end, of AllMasters.
	Masters, AllMasters int
	// NewMasters and AllNewMasters are the same for the new store.
	NewMasters, AllNewMasters int
	// Names that the masters of the old store returned.
	Names int
	// Chosen are the names that SweepConfig.Keys chose.
	Chosen int
	// Foreign are the names of SweepConfig.Foreign, those of locks that Keys did not choose, and those
	// that begin with "~cutover:", "~shadow:" or "~tx:".
	Foreign int
	// LeftOut counts all other names, at which the pass did not look.
	LeftOut Keys
	// Outages counts the times that a store was away, and Outage is the time that the pass waited for it:
	// see SweepConfig.MaxOutage.
	Outages int
	Outage  time.Duration

	most int // SweepConfig.Names
}

// add counts a key, and keeps its name if there is room.
func (n *Scanned) add(k *Keys, name string) {
	k.Count++
	if n.most < 0 || len(k.Names) < cmp.Or(n.most, 10) {
		k.Names = append(k.Names, name)
	}
}

// choose chooses a name for the pass, and counts it.
func (n *Scanned) choose(cfg *SweepConfig, name string) (key rmw.Key, ok bool) {
	n.Names++
	own := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
	if slices.ContainsFunc(ownPrefixes, own) || cfg.Foreign != nil && cfg.Foreign(name) {
		n.Foreign++
		return rmw.Key{}, false
	}
	switch key, ok = cfg.Keys(name); {
	case ok:
		n.Chosen++
		key.Name = name
	case ofLocks(name):
		n.Foreign++
	default:
		n.add(&n.LeftOut, name)
	}
	return key, ok
}

// all returns the number of masters that a pass must scan: that of the client, if it knows them.
func all(ctx context.Context, store cutover.Commands, masters []Scanner) int {
	var known atomic.Int64
	count := func(context.Context, *redis.Client) error {
		known.Add(1)
		return nil
	}
	if cluster, ok := store.(interface {
		ForEachMaster(context.Context, func(context.Context, *redis.Client) error) error
	}); ok {
		_ = cluster.ForEachMaster(ctx, count) // on an error the scan fails, too
	}
	return max(int(known.Load()), len(masters), 1)
}

// ownPrefixes are those of keys that no service reads: of a cut-over, of a shadow, and of decisions.
var ownPrefixes = []string{names.Prefix, "~shadow:", seal.DecisionPrefix}

const (
	// maxLanes is how many batches are in flight at once, at most: both stores work at the same time
	// then. On two cores, four lanes move no more keys than two, and a key waits three times as long.
	maxLanes = 2
	// pageSize is the COUNT of a SCAN.
	pageSize = 256
)

// scan calls visit with the chosen keys, until each master of the side has been scanned. A call has the
// keys of one batch, or of up to maxLanes batches while the pass is slower than SweepConfig.Rate.
//
// The cursor of a SCAN means nothing to a server that has restarted, or to another one after a failover. Such
// a master is scanned again.
func (s operator) scan(ctx context.Context, op string, side protocol.Side, cfg SweepConfig, away *outage, seen *Scanned,
	visit func(ctx context.Context, keys []rmw.Key, batch int) error,
) error {
	err := s.Invalid
	if err == nil {
		err = cfg.validate(side)
	}
	if err == nil {
		err = s.Gate.Enter()
	}
	if err != nil {
		return redisx.Fail("cutover", op, rmw.Key{}, 0, err)
	}
	defer s.Gate.Leave()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.Gate.Go(func() {
		select {
		case <-s.Gate.Closing:
			cancel(rmw.ErrClosed)
		case <-ctx.Done():
		}
	})
	masters, scanned, known := cfg.Masters, &seen.Masters, &seen.AllMasters
	if side == protocol.New {
		masters, scanned, known = cfg.NewMasters, &seen.NewMasters, &seen.AllNewMasters
		seen = new(Scanned) // the names of a pass are the old store's
	}
	client := s.mover.Clients[side].Commands
	if *known, err = mover.Await(ctx, s.Gate, func(ctx context.Context) int { return all(ctx, client, masters) }); err != nil {
		return redisx.Fail("cutover", op, rmw.Key{}, 0, redisx.Blame(ctx, err))
	}
	pace, lanes := pace{}, 1
	if cfg.Rate > 0 {
		pace.least = time.Second / time.Duration(cfg.Rate)
	}
	batch := make([]rmw.Key, 0, maxLanes*cfg.Batch)
	flush := func() error {
		if len(batch) == 0 {
			return ctx.Err()
		}
		slow := s.slow(ctx, cfg, batch[0].Name)
		began := time.Now()
		if err := visit(ctx, batch, cfg.Batch); err != nil {
			return err
		}
		n := len(batch)
		batch = batch[:0]
		rest := pace.rest(n, time.Since(began), slow)
		if rest > 0 {
			lanes = max(lanes/2, 1)
		} else {
			lanes = min(lanes+1, maxLanes)
		}
		return redisx.Sleep(ctx, rest)
	}
	page := func(master Scanner, cursor uint64) (names []string, next uint64, again bool, err error) {
		for {
			page, err := mover.Await(ctx, s.Gate, func(ctx context.Context) *redis.ScanCmd {
				return master.Scan(ctx, cursor, "", pageSize)
			})
			if err == nil {
				err = page.Err()
			}
			if err == nil {
				away.ended()
				names, next = page.Val()
				return names, next, again, nil
			}
			if again = away.another(ctx, err); !again {
				return nil, 0, false, redisx.Blame(ctx, err)
			}
		}
	}
	whole := func(master Scanner) (broken bool, err error) {
		for cursor := uint64(0); ; {
			names, next, again, err := page(master, cursor)
			if err != nil {
				return false, err
			}
			broken = broken || again && cursor != 0
			for _, name := range names {
				key, ok := seen.choose(&cfg, name)
				if !ok {
					continue
				}
				if batch = append(batch, key); len(batch) >= lanes*cfg.Batch {
					if err := flush(); err != nil {
						return false, err
					}
				}
			}
			if cursor = next; cursor == 0 {
				return broken, flush()
			}
		}
	}
	err = func() error {
		for _, master := range masters {
			for again := true; again; {
				before, err := mover.Await(ctx, s.Gate, func(ctx context.Context) string { return runID(ctx, master) })
				if err != nil {
					return err
				}
				broken, err := whole(master)
				if err != nil {
					return err
				}
				after, err := mover.Await(ctx, s.Gate, func(ctx context.Context) string { return runID(ctx, master) })
				if err != nil {
					return err
				}
				again = before != after || before == "" && broken
			}
			*scanned++
		}
		return nil
	}()
	if err == nil {
		return nil
	}
	if errors.Is(context.Cause(ctx), rmw.ErrClosed) {
		err = rmw.ErrClosed
	}
	return redisx.Fail("cutover", op, rmw.Key{}, 0, err)
}

// inLanes calls work for each batch of n keys, at once.
func inLanes(n, batch int, work func(from, to int)) {
	var lanes sync.WaitGroup
	for from := 0; from < n; from += batch {
		lanes.Go(func() { work(from, min(from+batch, n)) })
	}
	lanes.Wait()
}

// slow says whether the pass shall halve its rate.
func (s operator) slow(ctx context.Context, cfg SweepConfig, key string) bool {
	slow := cfg.Slow != nil && cfg.Slow()
	if cfg.MaxLatency > 0 {
		for side := range s.mover.Clients {
			began := time.Now()
			_, err := s.mover.Look(ctx, protocol.Side(side), key)
			slow = slow || err != nil || time.Since(began) > cfg.MaxLatency
		}
	}
	return slow
}

// pace spreads batches over time.
type pace struct {
	least time.Duration // per key
	gap   time.Duration // per key; it doubles while the stores are slow, and halves afterwards
}

// maxGap bounds the gap: a pass visits 10 keys per second at least.
const maxGap = 100 * time.Millisecond

// rest returns the time to wait after a batch of n keys that took this long.
func (p *pace) rest(n int, took time.Duration, slow bool) time.Duration {
	if slow {
		p.gap = min(2*max(p.gap, p.least, took/time.Duration(n)), maxGap)
	} else {
		p.gap /= 2
	}
	return max(p.gap, p.least)*time.Duration(n) - took
}
