package torture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// Each line of a history is an operation: process, interval, action. The value is the final state.
func TestCheck(t *testing.T) {
	add := func(process int, from, to time.Duration, id, seen string, outcome Outcome) Operation {
		return Operation{Process: process, Key: "k", ID: id, Outcome: outcome, Seen: listed(seen), Call: from, Return: to}
	}
	read := func(process int, from, to time.Duration, seen string) Operation {
		return add(process, from, to, "", seen, Acknowledged)
	}
	for name, test := range map[string]struct {
		ops   []Operation
		final string
		want  Verdict
	}{
		"nothing": {},
		"one after the other": {
			[]Operation{add(1, 0, 1, "a", "", Acknowledged), add(2, 2, 3, "b", "a,", Acknowledged), read(1, 4, 5, "a,b,")},
			"a,b,", Verdict{},
		},
		"lost": {
			[]Operation{add(1, 0, 1, "a", "", Acknowledged), add(2, 0, 3, "b", "", Acknowledged)}, "b,",
			Verdict{Lost: 1, NotLinearizable: []string{"k"}},
		},
		"carried out twice": {
			[]Operation{add(1, 0, 1, "a", "", Acknowledged), add(2, 2, 3, "b", "a,", Acknowledged)}, "a,b,a,",
			Verdict{Double: 1, NotLinearizable: []string{"k"}},
		},
		"said not to be written": {
			[]Operation{add(1, 0, 1, "a", "", NotWritten)}, "a,", Verdict{Ghost: 1, NotLinearizable: []string{"k"}},
		},
		"unknown, and there": {
			[]Operation{add(1, 0, 1, "a", "", Unknown), add(2, 2, 3, "b", "", Acknowledged)}, "b,a,", Verdict{},
		},
		"unknown, and not there": {[]Operation{add(1, 0, 1, "a", "", Unknown)}, "", Verdict{}},
		"unknown, and there before it began": {
			[]Operation{add(1, 4, 5, "a", "", Unknown), read(2, 0, 1, "a,")}, "a,", Verdict{NotLinearizable: []string{"k"}},
		},
		"given what nobody left": {
			[]Operation{add(1, 0, 1, "a", "", Acknowledged), add(2, 2, 3, "b", "", Acknowledged)}, "a,b,",
			Verdict{Chain: 1, NotLinearizable: []string{"k"}},
		},
		"an old read": {
			[]Operation{add(1, 0, 1, "a", "", Acknowledged), read(2, 2, 3, "")}, "a,", Verdict{NotLinearizable: []string{"k"}},
		},
		"the other order": {
			[]Operation{add(1, 0, 1, "a", "b,", Acknowledged), add(2, 2, 3, "b", "", Acknowledged)}, "b,a,",
			Verdict{NotLinearizable: []string{"k"}},
		},
		"an id of nobody": {
			[]Operation{add(1, 0, 1, "a", "x,", Acknowledged)}, "x,a,", Verdict{NotLinearizable: []string{"k"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHistory()
			for _, op := range test.ops {
				op.Call, op.Return = op.Call*time.Nanosecond, op.Return*time.Nanosecond
				h.add(op)
			}
			got := check(h, &stored{text: map[string]string{"k": test.final}})
			got.examples = nil
			assert.Equal(t, test.want, *got)
			assert.Equal(t, test.want.Lost+test.want.Double+test.want.Ghost+test.want.Chain+len(test.want.NotLinearizable) > 0, got.Bad())
		})
	}
}

// The checks find nothing in histories of a correct store, and find one loss planted in them.
func TestCheckRandomHistories(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		h, final := made(rng)
		got := check(h, &stored{text: map[string]string{"k": final}})
		assert.False(t, got.Bad(), "seed %d: %v", seed, got)
		if list := listed(final); len(list) > 0 {
			i := rng.IntN(len(list))
			final = strings.Join(append(list[:i:i], list[i+1:]...), ",")
			got = check(h, &stored{text: map[string]string{"k": final}})
			assert.Contains(t, []int{0, 1}, got.Lost)
			assert.True(t, got.Lost == 1 || unknown(h, list[i]), "seed %d: %s is not there", seed, list[i])
		}
	}
}

// made returns a history of updates that each take effect at a moment between call and return.
func made(rng *rand.Rand) (*History, string) {
	h, text := newHistory(), ""
	for i := range 30 {
		at := time.Duration(i * 10)
		op := Operation{
			Process: rng.IntN(5), Key: "k", ID: fmt.Sprint(i), Outcome: Outcome(rng.IntN(3)), Seen: listed(text),
			Call: at - time.Duration(rng.IntN(40)), Return: at + time.Duration(rng.IntN(40)),
		}
		if op.Outcome == Acknowledged || op.Outcome == Unknown && rng.IntN(2) == 0 {
			text += op.ID + ","
		}
		h.add(op)
	}
	return h, text
}

func unknown(h *History, id string) bool {
	for _, op := range h.ops {
		if op.ID == id {
			return op.Outcome == Unknown
		}
	}
	return false
}

func TestImmortal(t *testing.T) {
	all := &stored{ttl: map[string]time.Duration{keyPrefix + "0:0": -1, "/lock/a": time.Second, "/lock/b": -1}}
	assert.Equal(t, []string{"/lock/b"}, all.immortal())
	assert.True(t, (&Verdict{Immortal: all.immortal()}).Bad())
}

// A goroutine of a store that is not closed is found, and those of other topologies are not.
func TestLeaked(t *testing.T) {
	proxy, err := proxytest.Start(proxytest.Config{InMemory: true})
	require.NoError(t, err)
	defer proxy.Close()
	client := redis.NewClient(proxy.Options())
	defer client.Close()
	require.NoError(t, marked("here", func() error {
		store := lockupdate.New(client, lockupdate.Config{})
		defer store.Close()
		return store.WithLock(t.Context(), "a", func(context.Context) error {
			assert.Contains(t, leaked("here"), "lockupdate")
			assert.Empty(t, leaked("elsewhere"))
			return nil
		})
	})())
	assert.Empty(t, leaked("here"))
}

// Every nemesis and control has a unique name, a control names an existing nemesis, and the table fits a
// terminal.
func TestPlan(t *testing.T) {
	names := map[string]bool{}
	for _, n := range slices.Concat(Nemeses(), atTheQuorum()) {
		assert.False(t, names[n.Name], n.Name)
		names[n.Name] = true
	}
	for _, c := range Controls() {
		assert.True(t, names[c.Nemesis], c.Name)
	}
	for _, topology := range Topologies() {
		for _, name := range topology.only {
			assert.True(t, names[name], "%s at %s", name, topology.Name)
		}
	}
	assert.Empty(t, plan("no such thing"))
	assert.Len(t, plan("redis/stall"), 1)
	controls := 0
	for _, of := range plan("control/") {
		controls += len(of)
	}
	assert.Equal(t, len(Controls()), controls)
}

// A short run has all short cells, and those long ones that fit, selected by its seed; a long run has all.
func TestShorten(t *testing.T) {
	count := func(cells map[string][]planned) (short, long int) {
		for _, of := range cells {
			for _, p := range of {
				if p.long() {
					long++
				} else {
					short++
				}
			}
		}
		return short, long
	}
	short, long := count(plan(""))
	played := map[string]bool{}
	for seed := range uint64(100) {
		cells := plan("")
		omitted := shorten(cells, 3*time.Minute, seed)
		assert.NotEmpty(t, omitted)
		s, l := count(cells)
		assert.Equal(t, short, s)
		assert.Equal(t, long, l+len(omitted))
		assert.Positive(t, l)
		for name, of := range cells {
			for _, p := range of {
				played[p.name(Topology{Name: name})] = true
			}
		}
	}
	for name, of := range plan("") {
		for _, p := range of {
			assert.True(t, played[p.name(Topology{Name: name})], "%s is never played", p.name(Topology{Name: name}))
		}
	}
	assert.Empty(t, shorten(plan(""), 20*time.Minute, 1))
}

func TestTable(t *testing.T) {
	r := &Report{Config: Config{Seed: 7}, Results: []*Result{
		{Topology: "nutcracker-4", Nemesis: "out-of-memory", Operations: 100000, Acknowledged: 50000, NotWritten: 49000, Unknown: 1000,
			Stall: 1234 * time.Millisecond, Verdict: &Verdict{}},
		{Topology: "redis", Nemesis: "stall",
			Verdict: &Verdict{Lost: 1, Immortal: []string{"/lock/x"}, examples: []string{"k: a was lost"}}},
	}, Controls: []ControlResult{{Controls()[0], &Result{Verdict: &Verdict{}}, false}}, Remedies: []*Result{
		{Remedy: "WAIT 1", Topology: "sentinel", Nemesis: "primary-kill", Operations: 100000, Acknowledged: 10000, NotWritten: 89000,
			Unknown: 1000, Verdict: &Verdict{Forgiven: true, Lost: 5000}},
		{Remedy: "Redlock", Topology: "masters", Nemesis: "most-down", Sections: 1000, Verdict: &Verdict{Forgiven: true, Overlap: 3}},
		{Remedy: "etcd", Topology: "etcd", Nemesis: "one-down", Verdict: &Verdict{Ghost: 2}},
	}}
	var text strings.Builder
	assert.NoError(t, r.Table(&text))
	assert.True(t, r.Bad())
	for _, want := range []string{
		"FAILED", "1 keys of locks have no expiry", "NOT CAUGHT", "-seed 7 -only redis/stall:", "  k: a was lost",
		"etcd at etcd/one-down: -seed 7 -only 'remedy/etcd'", "2 updates were carried out that failed",
	} {
		assert.Contains(t, text.String(), want)
	}
	for line := range strings.Lines(text.String()) {
		assert.LessOrEqual(t, len(line), 81, line)
	}
}

func TestModel(t *testing.T) {
	ok, info := linearizable([]Operation{{Key: "k", ID: "a", Outcome: Acknowledged, Return: 1}}, []string{"a"}, 2)
	assert.Equal(t, porcupine.Ok, ok)
	var picture strings.Builder
	assert.NoError(t, porcupine.Visualize(model(), info, &picture))
	assert.Contains(t, picture.String(), "add a to 0")
}
