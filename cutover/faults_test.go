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

	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

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

// soak runs processes that move keys both ways while requests and replies are lost, and commands are
// executed late. It returns the result of the audit.
func soak(t *testing.T, seed uint64, n network) (wrong []string) {
	n.lease = time.Second // a lost release ends with it
	bubble(t, func(t *testing.T, r *rig) {
		r.strike(seed, 1, 10, proxytest.ExecuteLater, proxytest.DropReply, proxytest.DropRequest)
		keys := []rmw.Key{{Name: "a"}, {Name: "b"}, {Name: "c", Kind: rmw.KindHash}}
		a := newAudit()
		var wg sync.WaitGroup
		for worker := range 6 {
			p := r.open(flips{}, n)
			wg.Go(func() {
				for i := range 20 {
					key := keys[(worker+i)%len(keys)]
					a.update(t, p, key, fmt.Sprintf("%s%d-%d", key.Name, worker, i))
				}
			})
		}
		wg.Wait()
		wrong, _ = a.wrong(t, r, keys)
	})
	return wrong
}

func TestLongNothingIsLostUnderFaults(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			if seed >= 5 {
				long.Only(t)
			}
			require.Empty(t, soak(t, seed, network{}))
		})
	}
}

// controls runs without one check of the script, or with a seal that loses the value. run must find
// something wrong with one of the seeds.
func controls(t *testing.T, seeds uint64, run func(t *testing.T, seed uint64, control func(script string) string) (wrong []string)) {
	long.Only(t)
	for name, change := range map[string][2]string{
		"a fill over any marker":     {"step == 'fill' and state == 'away' and ours", "step == 'fill' and state == 'away'"},
		"a fill over anything":       {"step == 'fill' and state == 'away' and ours", "step == 'fill'"},
		"a seal that keeps no value": {"value = {redis.call('GET', KEYS[1])}", "value = {''}"},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range seeds {
				if wrong := run(t, seed, func(script string) string {
					require.Contains(t, script, change[0])
					return strings.Replace(script, change[0], change[1], 1)
				}); len(wrong) > 0 {
					t.Logf("seed %d: %s", seed, wrong[0])
					return
				}
			}
			t.Fatal("nothing was lost")
		})
	}
}

// Negative controls: each changes the script.
func TestLongControls(t *testing.T) {
	controls(t, 60, func(t *testing.T, seed uint64, control func(string) string) []string {
		return soak(t, seed, network{control: control})
	})
}
