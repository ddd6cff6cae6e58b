package torture

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

const counter = keyPrefix + countKind + ":0"

func TestCount(t *testing.T) {
	add := func(from, to time.Duration, seen int, outcome Outcome) Operation {
		return Operation{Key: counter, ID: fmt.Sprint(from), Outcome: outcome, Seen: []string{strconv.Itoa(seen)}, Call: from, Return: to}
	}
	read := func(from, to time.Duration, seen int) Operation {
		op := add(from, to, seen, Acknowledged)
		op.ID = ""
		return op
	}
	fell := []string{counter}
	for name, test := range map[string]struct {
		ops   []Operation
		final int
		want  Verdict
	}{
		"nothing":                   {},
		"one after the other":       {[]Operation{add(0, 1, 0, Acknowledged), add(2, 3, 1, Acknowledged), read(4, 5, 2)}, 2, Verdict{}},
		"at one time":               {[]Operation{add(0, 3, 1, Acknowledged), add(1, 2, 0, Acknowledged)}, 2, Verdict{}},
		"not written":               {[]Operation{add(0, 1, 0, NotWritten), add(2, 3, 0, Acknowledged)}, 1, Verdict{}},
		"both made it one":          {[]Operation{add(0, 3, 0, Acknowledged), add(1, 4, 0, Acknowledged)}, 1, Verdict{Lost: 1}},
		"gone":                      {[]Operation{add(0, 1, 0, Acknowledged)}, 0, Verdict{Lost: 1}},
		"counted twice":             {[]Operation{add(0, 1, 0, Acknowledged)}, 2, Verdict{Double: 1}},
		"said not to be written":    {[]Operation{add(0, 1, 0, NotWritten)}, 1, Verdict{Double: 1}},
		"unknown, and there":        {[]Operation{add(0, 1, 0, Unknown), add(2, 3, 1, Acknowledged)}, 2, Verdict{}},
		"unknown, and not there":    {[]Operation{add(0, 1, 0, Unknown), add(2, 3, 0, Acknowledged)}, 1, Verdict{}},
		"unknown, and twice":        {[]Operation{add(0, 1, 0, Unknown)}, 2, Verdict{Double: 1}},
		"an old read":               {[]Operation{add(0, 1, 0, Acknowledged), read(2, 3, 0)}, 1, Verdict{NotLinearizable: fell}},
		"a read of what is to come": {[]Operation{read(0, 1, 1), add(2, 3, 0, Acknowledged)}, 1, Verdict{NotLinearizable: fell}},
		"an old read after a slow one": {
			[]Operation{read(0, 6, 0), add(1, 2, 0, Acknowledged), read(7, 8, 0)}, 1, Verdict{NotLinearizable: fell},
		},
		"the other order": {
			[]Operation{add(0, 1, 1, Acknowledged), add(2, 3, 0, Acknowledged)}, 2, Verdict{NotLinearizable: fell},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHistory()
			for _, op := range test.ops {
				h.add(op)
			}
			got := check(h, &stored{text: map[string]string{counter: strconv.Itoa(test.final)}})
			got.examples = nil
			assert.Equal(t, test.want, *got)
		})
	}
}

func TestSections(t *testing.T) {
	held := func(process int, from, to time.Duration, token uint64) Section {
		return Section{Process: process, Names: []string{"a"}, Enter: from, Held: to, Token: token}
	}
	other := held(2, 1, 3, 1)
	other.Names = []string{"b"}
	refused := held(1, 0, 1, 0)
	refused.Refused = "why"
	for name, test := range map[string]struct {
		all  []Section
		want Verdict
	}{
		"one after the other":         {[]Section{held(2, 3, 5, 8), held(1, 0, 2, 7)}, Verdict{}},
		"with the same token":         {[]Section{held(1, 0, 2, 7), held(1, 2, 5, 7)}, Verdict{}},
		"of two names":                {[]Section{held(1, 0, 2, 7), other}, Verdict{}},
		"at one time":                 {[]Section{held(1, 0, 3, 7), held(2, 2, 5, 8)}, Verdict{Overlap: 1}},
		"within a long one":           {[]Section{held(1, 0, 9, 0), held(2, 1, 2, 0), held(3, 5, 6, 0)}, Verdict{Overlap: 2}},
		"one that had lost it before": {[]Section{held(1, 0, 0, 0), held(2, 0, 5, 0)}, Verdict{}},
		"an older token later":        {[]Section{held(1, 0, 2, 7), held(2, 3, 5, 6)}, Verdict{Stale: 1}},
		"refused while held":          {[]Section{refused}, Verdict{Refused: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			var got Verdict
			got.sections(test.all)
			got.examples = nil
			assert.Equal(t, test.want, got)
			assert.Equal(t, test.want.Overlap+test.want.Stale+test.want.Refused > 0, got.Bad())
		})
	}
}

func TestTransfers(t *testing.T) {
	done := func(id string, names ...string) Section { return Section{ID: id, Names: names, Done: true} }
	for name, test := range map[string]struct {
		all    []Section
		stored map[string]string
		torn   int
	}{
		"in one order": {
			[]Section{done("1", "a", "b"), done("2", "b", "a"), done("3", "a", "c")},
			map[string]string{"a": "1,2,3,", "b": "1,2,", "c": "3,"}, 0,
		},
		"two in two": {[]Section{done("1", "a", "b"), done("2", "a", "b")}, map[string]string{"a": "1,2,", "b": "2,1,"}, 2},
		"three in circle": {
			[]Section{done("1", "a", "b"), done("2", "b", "c"), done("3", "c", "a")},
			map[string]string{"a": "3,1,", "b": "1,2,", "c": "2,3,"}, 3,
		},
		"one was not done": {
			[]Section{done("1", "a", "b"), {ID: "2", Names: []string{"a", "b"}}}, map[string]string{"a": "1,2,", "b": "2,1,"}, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got Verdict
			got.transfers(test.all, &stored{text: test.stored})
			assert.Equal(t, test.torn, got.Torn)
			assert.Equal(t, test.torn > 0, got.Bad())
		})
	}
}

func TestExternal(t *testing.T) {
	fenced, open := newExternal(false), newExternal(true)
	for _, e := range []*external{fenced, open} {
		assert.True(t, e.write("k", 2, []string{"a"}))
		list, ok := e.read("k", 3)
		assert.True(t, ok)
		assert.Equal(t, []string{"a"}, list)
		assert.Equal(t, e == open, e.write("k", 2, []string{"b"}), "the read with 3 came between")
	}
	all := &stored{text: map[string]string{}}
	fenced.into(all)
	assert.Equal(t, []string{"a"}, all.list("k"))
}

// The external store is protected even if Redis forgets the lock.
func TestUnfenced(t *testing.T) {
	h, key := newHistory(), keyPrefix+externalKind+":0"
	for i, id := range []string{"a", "b"} {
		h.add(Operation{Key: key, ID: id, Outcome: Acknowledged, Call: time.Duration(i), Return: time.Duration(i)})
	}
	got := check(h, &stored{text: map[string]string{key: "b,"}})
	assert.Equal(t, 1, got.Unfenced)
	got.Forgiven = true
	assert.True(t, got.Bad())
}

// The audit reports each broken rule of a corrupted store.
func TestAudit(t *testing.T) {
	for name, test := range map[string]struct {
		harm func(t *testing.T, o deskLoad) []Decision
		want string // "": nothing
	}{
		"nothing": {func(*testing.T, deskLoad) []Decision { return []Decision{{"s0", 1, "a0"}, {"s0", 1, "a0"}} }, ""},
		"a slot is gone": {func(t *testing.T, o deskLoad) []Decision {
			_, err := o.agents.Release(t.Context(), "a0", time.Now(), "s0", 2)
			require.NoError(t, err)
			return nil
		}, "M2: a0 has s0 and no slot for it"},
		"it is of another one": {func(t *testing.T, o deskLoad) []Decision {
			return []Decision{{"s0", 1, "a1"}}
		}, `s0 was assigned to a1 at epoch 1, and belongs to "a0" at epoch 1`},
		"it is gone": {func(t *testing.T, o deskLoad) []Decision {
			return []Decision{{"s0", 2, "a1"}}
		}, `s0 was assigned to a1 at epoch 2, and belongs to "a0" at epoch 1`},
		"two have it": {func(t *testing.T, o deskLoad) []Decision {
			return []Decision{{"s0", 1, "a0"}, {"s0", 1, "a1"}}
		}, "M4: s0 was assigned to a0 and to a1 at epoch 1"},
	} {
		t.Run(name, func(t *testing.T) {
			proxy, err := proxytest.Start(proxytest.Config{Profile: proxycompat.Codis32(), Engines: 1})
			require.NoError(t, err)
			defer func() { require.NoError(t, proxy.Close()) }()
			rdb := redis.NewClient(proxycompat.Options(proxycompat.Codis32(), proxy.Addr()))
			defer func() { require.NoError(t, rdb.Close()) }()
			store := lockupdate.New(rdb, lockupdate.Config{})
			defer func() { require.NoError(t, store.Close()) }()
			o := newDeskLoad(store)
			require.NoError(t, o.populate(t.Context()))
			s, err := o.desk.Assign(t.Context(), domains.NewOp(time.Now()), "s0", "a0")
			require.NoError(t, err)
			require.Equal(t, Decision{"s0", 1, "a0"}, Decision{"s0", s.Epoch, s.AgentID})
			broken, err := o.audit(t.Context(), test.harm(t, o))
			require.NoError(t, err)
			if test.want == "" {
				assert.Empty(t, broken)
			} else {
				assert.Contains(t, broken, test.want)
			}
		})
	}
	assert.True(t, (&Verdict{Desk: []string{"x"}}).Bad())
	assert.False(t, (&Verdict{Forgiven: true, Desk: []string{"x"}}).Bad())
}
