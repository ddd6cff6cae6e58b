package cutover_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/cutover/operate"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/internal/testing/paths"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

func TestLongContract(t *testing.T) {
	for name, stage := range map[string]cutover.Source{
		"follow": follow, "copying": forward, "reverse": reverse, "flips": flips{},
		"half": cutover.Stage{Phase: cutover.Copying, Percent: 50},
	} {
		t.Run(name, func(t *testing.T) {
			switch name {
			case "copying":
				long.Repeats(t)
			case "follow", "half", "reverse":
				long.Only(t)
			}
			t.Parallel()
			rmwtest.RunFake(t, func(t *testing.T) rmwtest.Target {
				if name == "flips" && (strings.Contains(t.Name(), "/tx-") || strings.Contains(t.Name(), "/programs")) {
					return paths.Moving(t, flips{Thawed: true})
				}
				return paths.Moving(t, stage)
			})
		})
	}
}

// audit compares the results of updates with the stored values.
type audit struct {
	mu             sync.Mutex
	acked, unknown map[string]bool
}

func newAudit() *audit { return &audit{acked: map[string]bool{}, unknown: map[string]bool{}} }

// update adds the id to the key.
func (a *audit) update(t *testing.T, p process, key rmw.Key, id string) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	_, err := p.Update(ctx, key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		if key.Kind == rmw.KindHash {
			return cur.With(id, cur.Fields()[id]+"1"), nil
		}
		return rmw.String(cur.Text() + id + ","), nil
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	a.acked[id], a.unknown[id] = err == nil, errors.Is(err, rmw.ErrOutcomeUnknown)
}

// wrong returns the acknowledged updates that are not stored exactly once, and the refused ones that are
// stored. kept counts the acknowledged ones.
func (a *audit) wrong(t *testing.T, r *rig, keys []rmw.Key) (wrong []string, kept int) {
	sleep(time.Minute) // the servers execute late commands
	end := r.direct()
	counts := map[string]int{}
	for _, key := range keys {
		v, err := end.Read(t.Context(), key)
		if err != nil {
			wrong = append(wrong, err.Error())
		}
		for id, count := range v.All() {
			counts[id] += len(count)
		}
		for id := range strings.SplitSeq(v.Text(), ",") {
			counts[id]++
		}
	}
	for id, ok := range a.acked {
		if ok {
			kept++
		}
		switch got := counts[id]; {
		case a.unknown[id] && got <= 1:
		case ok && got != 1, !ok && got != 0:
			wrong = append(wrong, fmt.Sprintf("%s: acknowledged %v, stored %d times", id, ok, got))
		}
	}
	return wrong, kept
}

// strike injects each of the faults into permille of the scripts sent to each store.
func (r *rig) strike(seed, stream uint64, permille int, actions ...proxytest.Action) {
	source := rand.New(rand.NewPCG(seed, stream))
	var mu sync.Mutex
	match := func(args []string) bool {
		mu.Lock()
		defer mu.Unlock()
		return strings.HasPrefix(args[0], "eval") && source.IntN(1000) < permille
	}
	for _, p := range r.proxies {
		for _, action := range actions {
			for _, delay := range []time.Duration{time.Millisecond, 300 * time.Millisecond} {
				p.Inject(proxytest.Fault{Match: match, Times: -1, Action: action, Delay: delay})
			}
		}
	}
}

// race is processes that update keys, beside sweepers.
type race struct {
	updaters cutover.Source
	sweepers []cutover.Source // each sweeps until the updates end
	permille int              // of the scripts that faults strike
	seeds    [2]uint64        // of make test, and of make test-all
}

// turns is a Source that goes forward and back.
type turns struct{}

func (turns) Stage(context.Context) (cutover.Stage, error) {
	if time.Now().UnixMilli()/2%2 == 0 {
		return forward, nil
	}
	return reverse, nil
}

var races = map[string]race{
	"updates move":              {updaters: flips{}, permille: 10, seeds: [2]uint64{5, 20}},
	"a sweep, there and back":   {updaters: follow, sweepers: []cutover.Source{turns{}}, seeds: [2]uint64{1, 8}},
	"sweeps against each other": {updaters: follow, sweepers: []cutover.Source{forward, reverse}, seeds: [2]uint64{1, 8}},
	"sweeps and faults": {
		updaters: follow, sweepers: []cutover.Source{forward, reverse, flips{}}, permille: 5, seeds: [2]uint64{1, 8},
	},
}

// run returns the result of the audit: nothing is wrong while requests and replies are lost, and commands are executed
// late. n is the network of all processes.
func (c race) run(t *testing.T, seed uint64, n network) (wrong []string) {
	n.lease = time.Second // a lost release ends with it
	bubble(t, func(t *testing.T, r *rig) {
		if c.permille > 0 {
			r.strike(seed, 1, c.permille, proxytest.ExecuteLater, proxytest.DropReply, proxytest.DropRequest, proxytest.DelayReply)
		}
		keys := make([]rmw.Key, 6)
		for i := range keys {
			keys[i] = rmw.Key{Name: fmt.Sprint("k", i), Kind: rmw.Kind(i % 2)}
		}
		a := newAudit()
		ctx, stop := context.WithCancel(t.Context())
		var mu sync.Mutex
		moved := 0
		var updates, sweeps sync.WaitGroup
		for _, stage := range c.sweepers {
			p, cfg := r.open(stage, n), r.both(4)
			sweeps.Go(func() {
				for ctx.Err() == nil {
					pass, _ := operate.Sweep(ctx, p.Store, cfg)
					mu.Lock()
					moved += pass.Moved
					mu.Unlock()
					sleep(time.Millisecond)
				}
			})
		}
		for worker := range 5 {
			p := r.open(c.updaters, n)
			updates.Go(func() {
				for i := range 40 {
					key := keys[(worker+i)%len(keys)]
					a.update(t, p, key, fmt.Sprintf("%s-%d-%d", key.Name, worker, i))
				}
			})
		}
		updates.Wait()
		stop()
		sweeps.Wait()
		var kept int
		wrong, kept = a.wrong(t, r, keys)
		require.Greater(t, kept, 100, "too few updates were acknowledged")
		require.True(t, moved > 20 || len(c.sweepers) == 0, "the sweeps have moved %d keys", moved)
	})
	return wrong
}

func TestLongNothingIsLostUnderFaults(t *testing.T) {
	for name, c := range races {
		for seed := range c.seeds[1] {
			t.Run(fmt.Sprintf("%s, seed %d", name, seed), func(t *testing.T) {
				if seed >= c.seeds[0] {
					long.Only(t)
				} else if seed > 0 {
					long.Repeats(t)
				}
				t.Parallel()
				require.Empty(t, c.run(t, seed, network{}))
			})
		}
	}
}

// Negative controls: without one check of the script, or with a seal that loses the value, one of the seeds finds
// something wrong.
func TestLongControls(t *testing.T) {
	long.Only(t)
	for name, change := range map[string][2]string{
		"a fill over any marker":     {"step == 'fill' and state == 'away' and ours", "step == 'fill' and state == 'away'"},
		"a fill over anything":       {"step == 'fill' and state == 'away' and ours", "step == 'fill'"},
		"a seal that keeps no value": {"value = {redis.call('GET', KEYS[1])}", "value = {''}"},
	} {
		for _, of := range []string{"updates move", "sweeps and faults"} {
			t.Run(name+", "+of, func(t *testing.T) {
				t.Parallel()
				for seed := range uint64(60) {
					if wrong := races[of].run(t, seed, network{control: func(script string) string {
						require.Contains(t, script, change[0])
						return strings.Replace(script, change[0], change[1], 1)
					}}); len(wrong) > 0 {
						t.Logf("seed %d: %s", seed, wrong[0])
						return
					}
				}
				t.Fatal("nothing was lost")
			})
		}
	}
}
