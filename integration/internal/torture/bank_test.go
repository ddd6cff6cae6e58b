package torture

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/seal"
	"github.com/unwatch/unwatch/rmw"
)

// Accounts 0 and 2 are strings. The history has their operations, and the final lists what is stored.
func TestBank(t *testing.T) {
	place := func(list string) Prefix {
		ids := listed(list)
		if len(ids) == 0 {
			return Prefix{}
		}
		return Prefix{len(ids), ids[len(ids)-1]}
	}
	name := func(n int) string { return accountKey(n, 0).Name }
	both := func(id string, from, to int64, a, b string, outcome Outcome) Joint {
		return Joint{
			ID: id, Keys: []string{name(0), name(2)}, Seen: []Prefix{place(a), place(b)}, Call: from, Return: to, Outcome: outcome,
		}
	}
	one := func(id string, from, to int64, n int, seen string) Joint {
		return Joint{ID: id, Keys: []string{name(n)}, Seen: []Prefix{place(seen)}, Call: from, Return: to, Outcome: Acknowledged}
	}
	cycle := []string{"bank:0"}
	for test, c := range map[string]struct {
		ops  []Joint
		a, b string
		want Verdict
	}{
		"nothing": {},
		"one after the other": {
			[]Joint{both("x", 0, 1, "", "", Acknowledged), both("y", 2, 3, "x,", "x,", Acknowledged)}, "100;x,y,", "100;x,y,", Verdict{},
		},
		"money is lost":          {[]Joint{both("x", 0, 1, "", "", Acknowledged)}, "90;x,", "105;x,", Verdict{Partial: 1}},
		"lost":                   {[]Joint{both("x", 0, 1, "", "", Acknowledged)}, "", "", Verdict{Lost: 1}},
		"torn":                   {[]Joint{both("x", 0, 1, "", "", Acknowledged)}, "100;x,", "", Verdict{Partial: 1}},
		"torn, and unknown":      {[]Joint{both("x", 0, 1, "", "", Unknown)}, "100;x,", "", Verdict{Partial: 1}},
		"said not to be written": {[]Joint{both("x", 0, 1, "", "", NotWritten)}, "100;x,", "100;x,", Verdict{Ghost: 1}},
		"unknown, and there":     {[]Joint{both("x", 0, 1, "", "", Unknown)}, "100;x,", "100;x,", Verdict{}},
		"unknown, and not there": {[]Joint{both("x", 0, 1, "", "", Unknown)}, "", "", Verdict{}},
		"carried out twice":      {[]Joint{both("x", 0, 1, "", "", Acknowledged)}, "100;x,x,", "100;x,x,", Verdict{Double: 1}},
		"given an old value": {
			[]Joint{both("x", 0, 1, "", "", Acknowledged), both("y", 0, 1, "", "", Acknowledged)}, "100;x,y,", "100;x,y,",
			Verdict{Chain: 1, NotLinearizable: cycle},
		},
		"two orders": {
			[]Joint{both("x", 0, 9, "", "y,", Acknowledged), both("y", 0, 9, "x,", "", Acknowledged)}, "100;x,y,", "100;y,x,",
			Verdict{NotLinearizable: cycle},
		},
		"a read of two moments": {
			[]Joint{one("x", 0, 1, 0, ""), one("y", 2, 3, 2, ""), both("", 0, 9, "", "y,", Acknowledged)}, "100;x,", "100;y,",
			Verdict{NotLinearizable: cycle},
		},
		"a read of one moment": {
			[]Joint{one("x", 0, 1, 0, ""), one("y", 2, 3, 2, ""), both("", 0, 9, "x,", "", Acknowledged)}, "100;x,", "100;y,", Verdict{},
		},
		"write skew": {
			[]Joint{
				{ID: "x", Keys: []string{name(0)}, Seen: []Prefix{{}}, Outcome: Acknowledged, Return: 9},
				both("", 5, 6, "", "y,", Acknowledged), both("", 5, 6, "x,", "", Acknowledged), one("y", 0, 9, 2, ""),
			},
			"100;x,", "100;y,", Verdict{NotLinearizable: cycle},
		},
		"an old read": {
			[]Joint{both("x", 0, 1, "", "", Acknowledged), both("", 2, 3, "", "", Acknowledged)}, "100;x,", "100;x,",
			Verdict{NotLinearizable: cycle},
		},
		"a read beside it": {
			[]Joint{both("x", 0, 4, "", "", Acknowledged), both("", 2, 3, "", "", Acknowledged)}, "100;x,", "100;x,", Verdict{},
		},
		"a read of nobody's": {
			[]Joint{both("", 2, 3, "z,", "", Acknowledged)}, "", "", Verdict{NotLinearizable: cycle},
		},
		"a sum that was read": {[]Joint{{Keys: []string{name(0)}, Wrong: "the sum"}}, "", "", Verdict{Partial: 1}},
		"an error":            {[]Joint{{Keys: []string{name(0)}, Err: "kind", Odd: true}}, "", "", Verdict{Errors: []string{"kind"}}},
	} {
		t.Run(test, func(t *testing.T) {
			all := newStored()
			for n, text := range map[int]string{0: c.a, 2: c.b} {
				if text != "" {
					all.text[name(n)] = text
				}
			}
			var got Verdict
			got.bank(c.ops, all)
			got.examples = nil
			assert.Equal(t, c.want, got)
		})
	}
}

// A string and a hash have the same accounts.
func TestAccount(t *testing.T) {
	for n := range 2 {
		key, v := accountKey(n, 3), rmw.Value{}
		for i, id := range []string{"x", "y"} {
			balance, ids := split(v)
			assert.Equal(t, bankOpening-5*i, balance)
			assert.Len(t, ids, i)
			v = posted(v, key, id, -5)
		}
		balance, ids := split(v)
		assert.Equal(t, bankOpening-10, balance)
		assert.Equal(t, []string{"x", "y"}, ids)
		assert.Equal(t, Prefix{2, "y"}, placeIn(v))
		assert.Equal(t, key.Kind == rmw.KindHash, v.Kind() == rmw.KindHash)
		assert.Equal(t, key.Kind, bankKindOf(key.Name))
		assert.EqualValues(t, 3, generationIn(key.Name))
	}
}

func TestShow(t *testing.T) {
	book := func(id string, outcome Outcome) Joint {
		return Joint{ID: id, Keys: []string{indexKey(1).Name}, Outcome: outcome}
	}
	cancel := func(id string, outcome Outcome) Joint {
		return Joint{Cancels: id, Keys: []string{indexKey(1).Name}, Outcome: outcome}
	}
	// Seats as "0=a 1=a", index and records as "a=0+1,".
	for name, test := range map[string]struct {
		ops                   []Joint
		seats, index, records string
		want                  Verdict
	}{
		"nothing":           {},
		"booked":            {[]Joint{book("a", Acknowledged)}, "0=a 1=a", "a=0+1,", "a=0+1,", Verdict{}},
		"lost":              {[]Joint{book("a", Acknowledged)}, "", "", "", Verdict{Lost: 1}},
		"cancelled":         {[]Joint{book("a", Acknowledged), cancel("a", Acknowledged)}, "", "", "", Verdict{}},
		"perhaps cancelled": {[]Joint{book("a", Acknowledged), cancel("a", Unknown)}, "", "", "", Verdict{}},
		"perhaps not":       {[]Joint{book("a", Acknowledged), cancel("a", Unknown)}, "0=a 1=a", "a=0+1,", "a=0+1,", Verdict{}},
		"not cancelled":     {[]Joint{book("a", Acknowledged), cancel("a", NotWritten)}, "", "", "", Verdict{Lost: 1}},
		"a cancellation is lost": {
			[]Joint{book("a", Unknown), cancel("a", Acknowledged)}, "0=a 1=a", "a=0+1,", "a=0+1,", Verdict{Lost: 1},
		},
		"cancelled twice": {
			[]Joint{book("a", Acknowledged), cancel("a", Acknowledged), cancel("a", Acknowledged)}, "", "", "", Verdict{Chain: 1},
		},
		"said not to be written":  {[]Joint{book("a", NotWritten)}, "0=a 1=a", "a=0+1,", "a=0+1,", Verdict{Ghost: 1}},
		"a seat is not there":     {[]Joint{book("a", Acknowledged)}, "0=a", "a=0+1,", "a=0+1,", Verdict{Partial: 1}},
		"a record without index":  {[]Joint{book("a", Acknowledged)}, "", "", "a=0+1,", Verdict{Partial: 1}},
		"an index without record": {[]Joint{book("a", Unknown)}, "0=a 1=a", "a=0+1,", "", Verdict{Partial: 1}},
		"a seat of nobody":        {[]Joint{book("a", Unknown)}, "0=a", "", "", Verdict{Partial: 1}},
		"a seat with two bookings": {
			[]Joint{book("a", Acknowledged), book("b", Acknowledged)}, "0=a 1=a 2=b", "a=0+1,b=1+2,", "a=0+1,b=1+2,", Verdict{Partial: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			all := newStored()
			for seat := range strings.FieldsSeq(test.seats) {
				n, id, _ := strings.Cut(seat, "=")
				all.text[seatKey(number(n), 1).Name] = id
			}
			if test.index != "" {
				all.text[indexKey(1).Name] = test.index
			}
			for _, entry := range listed(test.records) {
				id, seats, _ := strings.Cut(entry, "=")
				all.hash[recordKey(id, 1).Name] = map[string]string{"seats": seats}
			}
			var got Verdict
			got.bank(test.ops, all)
			got.examples = nil
			assert.Equal(t, test.want, got)
		})
	}
	for generation := range int64(2) {
		key := indexKey(generation)
		assert.Equal(t, key.Kind, bankKindOf(key.Name))
		all := map[string]string{"a": "0+1", "b": "2+3"}
		assert.Equal(t, all, indexed(index(key, all)))
		assert.False(t, index(key, nil).Exists())
	}
}

// A seal that nobody decides is opened by one touch; one that a Store cannot open is counted.
func TestUnseal(t *testing.T) {
	env := started(t)
	rdb, err := env.client(0)
	require.NoError(t, err)
	defer func() { require.NoError(t, rdb.Close()) }()
	key := accountKey(0, 0)
	require.NoError(t, rdb.Set(t.Context(), key.Name, "95;x,", 0).Err())
	args := seal.TakeArgs(key, "n/1", seal.DecisionKey(key.Name), seal.CheckAll)
	require.NoError(t, rdb.Eval(t.Context(), seal.Take.Source, []string{key.Name}, args...).Err())
	names, _, err := env.sealed(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{key.Name}, names)
	sealed, decisions, err := env.unseal(t.Context())
	require.NoError(t, err)
	assert.Zero(t, sealed)
	assert.Zero(t, decisions)
	record := seal.Committed([]seal.Next{{Key: key.Name, Nonce: "m", Kept: true}})
	require.NoError(t, rdb.HSet(t.Context(), seal.DecisionKey(key.Name), "m", record).Err())
	_, decisions, err = env.unseal(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 1, decisions)
	text, err := rdb.Get(t.Context(), key.Name).Result()
	require.NoError(t, err)
	assert.Equal(t, "95;x,", text)
	require.NoError(t, rdb.Eval(t.Context(), seal.Take.Source, []string{key.Name}, args...).Err())
	require.NoError(t, rdb.Do(t.Context(), "LPOP", key.Name).Err())
	_, _, err = env.unseal(t.Context())
	require.NoError(t, err, "it is no seal any more")
}

// The reply to an open of a hash tells that the seal was there, although a server without a cluster refuses CLUSTER NODES.
func TestOpenHash(t *testing.T) {
	env := started(t)
	rdb, err := env.client(0)
	require.NoError(t, err)
	defer func() { require.NoError(t, rdb.Close()) }()
	key := accountKey(1, 0)
	for _, kept := range []bool{true, false} {
		require.NoError(t, rdb.HSet(t.Context(), key.Name, balanceName, "95").Err())
		args := seal.TakeArgs(key, "n/1", seal.DecisionKey(key.Name), seal.CheckAll)
		require.NoError(t, rdb.Eval(t.Context(), seal.Take.Source, []string{key.Name}, args...).Err())
		next := seal.Next{Key: key.Name, Nonce: "n/1", Kept: kept, Value: rmw.Hash(map[string]string{balanceName: "95"})}
		reply, err := rdb.Eval(t.Context(), seal.Open.Source, []string{key.Name}, seal.OpenArgs(next)...).Result()
		require.NoError(t, err)
		assert.EqualValues(t, 1, reply)
	}
}

// Each topology with updates of several keys has cells of the bank, and a short run has a few of all of them.
func TestBankCells(t *testing.T) {
	cells := plan("/bank")
	controls := 0
	for _, topology := range []string{
		"redis", "nutcracker", "codis", "cluster", "sentinel", "old>nutcracker", "old>cluster", "old>codis",
	} {
		assert.True(t, slices.ContainsFunc(cells[topology], func(p planned) bool { return p.bank }), topology)
		for _, p := range cells[topology] {
			if p.control != nil {
				controls++
			}
		}
	}
	assert.Equal(t, 4, controls)
	took := func(cells map[string][]planned) (d time.Duration, banks int) {
		for _, of := range cells {
			for _, p := range of {
				if p.bank {
					banks++
					d += (p.nemesis.least + settle) / atOnce
				}
			}
		}
		return d, banks
	}
	seen := map[string]bool{}
	for seed := range uint64(300) {
		all := plan("")
		shorten(all, 2*time.Minute, seed)
		d, banks := took(all)
		assert.Positive(t, banks)
		assert.LessOrEqual(t, d, 10*time.Second)
		for topology, of := range all {
			for _, p := range of {
				if p.bank {
					seen[topology+"/"+p.nemesis.Name] = true
				}
			}
		}
	}
	_, every := took(plan(""))
	assert.Len(t, seen, every, "%s", strconv.Itoa(every))
}
