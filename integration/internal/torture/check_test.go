package torture

import (
	"context"
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
		"at one time": {
			[]Operation{add(1, 0, 3, "a", "b,", Acknowledged), add(2, 1, 2, "b", "", Acknowledged)}, "b,a,", Verdict{},
		},
		"not written":            {[]Operation{add(1, 0, 1, "a", "", NotWritten), add(2, 2, 3, "b", "", Acknowledged)}, "b,", Verdict{}},
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

// Every nemesis and control has a unique name, a control names an existing nemesis, and a cell exists for each nemesis
// that a topology lists and for each place of a mitigation. TestGuarantees shows that each nemesis runs somewhere.
func TestPlan(t *testing.T) {
	names := map[string]bool{}
	for _, n := range slices.Concat(Nemeses(), atTheQuorum()) {
		assert.False(t, names[n.Name], n.Name)
		names[n.Name] = true
	}
	for _, i := range Isolations() {
		names[i.Fault] = true
		assert.Len(t, plan("isolation/" + i.Topology.Name + "/" + i.Fault)[i.Topology.Name], 1)
	}
	for _, c := range Controls() {
		assert.True(t, names[c.Nemesis], c.Name)
	}
	for _, topology := range Topologies() {
		played := 0
		for _, n := range Nemeses() {
			if n.fits(topology) {
				played++
				assert.False(t, n.forgets && strings.Contains(topology.Name, ">"), "a cut-over excuses no loss: %s", n.Name)
			}
		}
		assert.True(t, topology.only == nil || played == len(topology.only), topology.Name)
	}
	topologies := slices.Concat(Topologies(), quorums(), apart())
	for name := range plan("") {
		assert.True(t, slices.ContainsFunc(topologies, func(t Topology) bool { return t.Name == name }), name)
	}
	assert.Len(t, plan("mitigation/moves wait")["sentinel>redis"], 1)
	assert.Empty(t, plan("no such thing"))
	assert.Len(t, plan("redis/stall"), 1)
	controls, mitigations, places := 0, 0, 0
	for _, of := range plan("control/") {
		controls += len(of)
	}
	assert.Equal(t, len(Controls()), controls)
	for _, of := range plan("mitigation/") {
		for _, p := range of {
			mitigations += len(p.trial.mitigations)
		}
	}
	for _, r := range Mitigations() {
		places += len(r.Where)
	}
	assert.Equal(t, places, mitigations)
}

// A short run has all short cells, and those long ones that fit, selected by its seed; a long run has all.
func TestShorten(t *testing.T) {
	names := func(cells map[string][]planned) (all []string) {
		for name, of := range cells {
			for _, p := range of {
				all = append(all, p.name(Topology{Name: name}))
			}
		}
		return all
	}
	all, played := names(plan("")), map[string]int{}
	for seed := range uint64(100) {
		cells := plan("")
		omitted := shorten(cells, 3*time.Minute, seed)
		assert.ElementsMatch(t, all, append(omitted, names(cells)...))
		for _, name := range names(cells) {
			played[name]++
		}
	}
	for topology, of := range plan("") {
		for _, p := range of {
			n := played[p.name(Topology{Name: topology})]
			assert.Positive(t, n, p.name(Topology{Name: topology}))
			assert.Equal(t, p.long() || p.bank, n < 100, p.name(Topology{Name: topology}))
		}
	}
	assert.Empty(t, shorten(plan(""), 2*time.Hour, 1))
}

func TestTable(t *testing.T) {
	r := &Report{Config: Config{Seed: 7}, Results: []*Result{
		{Topology: "nutcracker-4", Nemesis: "out-of-memory", Operations: 100000, Acknowledged: 50000, NotWritten: 49000, Unknown: 1000,
			Stall: 1234 * time.Millisecond, Verdict: &Verdict{}},
		{Topology: "redis", Nemesis: "stall",
			Verdict: &Verdict{Lost: 1, Immortal: []string{"/lock/x"}, examples: []string{"k: a was lost"}}},
	}, Controls: []ControlResult{{Controls()[0], &Result{Verdict: &Verdict{}}, false}}, Mitigations: []*Result{
		{Mitigation: "moves wait", Topology: "sentinel>redis", Nemesis: "failovers", Moves: 1000, Verdict: &Verdict{Forgiven: true}},
		{Mitigation: "Redlock", Topology: "masters", Nemesis: "most-down", Sections: 1000, Verdict: &Verdict{Forgiven: true, Overlap: 3}},
		{Mitigation: "etcd", Topology: "etcd", Nemesis: "one-down", Verdict: &Verdict{Ghost: 2}},
	}}
	var text strings.Builder
	assert.NoError(t, r.Table(&text))
	assert.True(t, r.Bad())
	for _, want := range []string{
		"FAILED", "1 keys of locks have no expiry", "NOT CAUGHT", "-seed 7 -only redis/stall:", "  k: a was lost",
		"etcd at etcd/one-down: -seed 7 -only 'mitigation/etcd'", "2 updates were carried out that failed",
	} {
		assert.Contains(t, text.String(), want)
	}
}

func TestModel(t *testing.T) {
	ok, info := linearizable([]Operation{{Key: "k", ID: "a", Outcome: Acknowledged, Return: 1}}, []string{"a"}, 2)
	assert.Equal(t, porcupine.Ok, ok)
	var picture strings.Builder
	assert.NoError(t, porcupine.Visualize(model(), info, &picture))
	assert.Contains(t, picture.String(), "add a to 0")
}
