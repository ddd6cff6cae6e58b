package model_test

import (
	"strings"
	"testing"

	"github.com/unwatch/unwatch/cutover/internal/model"
	"github.com/unwatch/unwatch/cutover/internal/protocol"
	"github.com/unwatch/unwatch/internal/testing/long"
)

var (
	f   = model.Operation{Kind: model.Forward}
	b   = model.Operation{Kind: model.Backward}
	u   = model.Operation{Kind: model.Update, Value: 2}
	u2  = model.Operation{Kind: model.Update, Value: 3}
	ttl = model.Operation{Kind: model.Update, Value: 3, TTL: 1}
	d   = model.Operation{Kind: model.Delete}
	r   = model.Operation{Kind: model.Read}
)

type processes = [][]model.Operation

// configurations are explored as a whole. F moves the key forward, B backward, U updates it, D
// deletes it, R reads it.
var configurations = map[string]model.Config{
	"F, U; 2 give up":                          {Value: 1, Processes: processes{{f}, {u}}, GiveUps: 2},
	"F, D, R; 1 gives up":                      {Value: 1, Processes: processes{{f}, {d}, {r}}, GiveUps: 1},
	"F, F, U; 1 gives up":                      {Value: 1, Processes: processes{{f}, {f}, {u}}, GiveUps: 1},
	"F, F, D; 1 gives up":                      {Value: 1, Processes: processes{{f}, {f}, {d}}, GiveUps: 1},
	"F, F, U, absent at first; 1 gives up":     {Processes: processes{{f}, {f}, {u}}, GiveUps: 1},
	"F, U, U, D":                               {Value: 1, Processes: processes{{f}, {u}, {u2}, {d}}},
	"F then B, U; 2 give up":                   {Value: 1, Processes: processes{{f, b}, {u}}, GiveUps: 2},
	"F, B, U; 4 hops":                          {Value: 1, Processes: processes{{f}, {b}, {u}}, MaxHop: 4},
	"F, B, R; 3 hops":                          {Value: 1, Processes: processes{{f}, {b}, {r}}, MaxHop: 3},
	"F, B, U, absent at first; 3 hops":         {Processes: processes{{f}, {b}, {u}}, MaxHop: 3},
	"F, B, D then U; 2 hops":                   {Value: 1, Processes: processes{{f}, {b}, {d, u}}, MaxHop: 2},
	"F, B, U; 2 hops, 1 gives up":              {Value: 1, Processes: processes{{f}, {b}, {u}}, MaxHop: 2, GiveUps: 1},
	"F then B, F, U; 2 hops, 1 gives up":       {Value: 1, Processes: processes{{f, b}, {f}, {u}}, MaxHop: 2, GiveUps: 1},
	"F then B, F, D; 2 hops, 1 gives up":       {Value: 1, Processes: processes{{f, b}, {f}, {d}}, MaxHop: 2, GiveUps: 1},
	"F, F, B, U; 2 hops":                       {Value: 1, Processes: processes{{f}, {f}, {b}, {u}}, MaxHop: 2},
	"F, F, F, U; 1 gives up":                   {Value: 1, Processes: processes{{f}, {f}, {f}, {u}}, GiveUps: 1},
	"expiry: F, U; 3 ticks, 1 gives up":        {Value: 1, TTL: 2, Processes: processes{{f}, {u}}, Ticks: 3, GiveUps: 1},
	"expiry, old fails over: F, F; 3 ticks":    {Value: 1, TTL: 3, Processes: processes{{f}, {f}}, Ticks: 3, FailoversOld: 1},
	"expiry: F, F, U, D; 2 ticks":              {Value: 1, TTL: 1, Processes: processes{{f}, {f}, {ttl}, {d}}, Ticks: 2},
	"old fails over: F, U twice; 1 gives up":   {Value: 1, Processes: processes{{f}, {u, u2}}, GiveUps: 1, FailoversOld: 1},
	"old fails over: F, F, D":                  {Value: 1, Processes: processes{{f}, {f}, {d}}, FailoversOld: 1},
	"old fails over: F then B, U, D; 3 hops":   {Value: 1, Processes: processes{{f, b}, {u}, {d}}, MaxHop: 3, FailoversOld: 1},
	"old fails over: F, B, U; 3 hops, 1 gives": {Value: 1, Processes: processes{{f}, {b}, {u}}, MaxHop: 3, FailoversOld: 1, GiveUps: 1},
	"old fails over twice: F, B, U; 3 hops":    {Value: 1, Processes: processes{{f}, {b}, {u}}, MaxHop: 3, FailoversOld: 2},
	"old fails over: F, B, U, absent at first": {Processes: processes{{f}, {b}, {u}}, MaxHop: 3, FailoversOld: 1},
	"both fail over: F, B, U; 2 hops": {
		Value: 1, Processes: processes{{f}, {b}, {u}}, MaxHop: 2, FailoversOld: 1, FailoversNew: 1,
	},
	"old forgets seals: F, B, U; 4 hops": {
		Value: 1, Processes: processes{{f}, {b}, {u}}, MaxHop: 4, FailoversOld: 1, NoWait: true, OnlyHome: true,
	},
	"new forgets seals: F, B, U; 4 hops": {
		Value: 1, Processes: processes{{f}, {b}, {u}}, MaxHop: 4, FailoversNew: 1,
		NoWait: true, UnreplicatedReservation: true, OnlyHome: true,
	},
	"new fails over: F, U twice; 1 gives up":   {Value: 1, Processes: processes{{f}, {u, u2}}, GiveUps: 1, FailoversNew: 1},
	"new fails over: F then B, U, D; 3 hops":   {Value: 1, Processes: processes{{f, b}, {u}, {d}}, MaxHop: 3, FailoversNew: 1},
	"new fails over: F, B, U; 3 hops, 1 gives": {Value: 1, Processes: processes{{f}, {b}, {u}}, MaxHop: 3, FailoversNew: 1, GiveUps: 1},
	"new fails over twice: F, B, U; 3 hops":    {Value: 1, Processes: processes{{f}, {b}, {u}}, MaxHop: 3, FailoversNew: 2},
	"new fails over: F, B, U, absent at first": {Processes: processes{{f}, {b}, {u}}, MaxHop: 3, FailoversNew: 1},
	"new fails over twice: F, F, D, R":         {Value: 1, Processes: processes{{f}, {f}, {d}, {r}}, FailoversNew: 2},

	"2 old primaries: F, F, U, D":      {Value: 1, Processes: processes{{f}, {f}, {u}, {d}}, FailoversOld: 1, TwoPrimaries: true},
	"2 old primaries: F, B, U, absent": {Processes: processes{{f}, {b}, {u}}, MaxHop: 3, FailoversOld: 1, TwoPrimaries: true},
	"2 old primaries, spare: F, B, U": {
		Value: 1, Processes: processes{{f}, {b}, {u}}, MaxHop: 3, FailoversOld: 1, TwoPrimaries: true, SpareReplica: true,
	},
	"2 old primaries, spare: F, F, U, D": {
		Value: 1, Processes: processes{{f}, {f}, {u}, {d}}, FailoversOld: 1, TwoPrimaries: true, SpareReplica: true,
	},
	"2 old primaries, spare: absent": {
		Processes: processes{{f}, {b}, {u}}, MaxHop: 2, FailoversOld: 1, TwoPrimaries: true, SpareReplica: true,
	},
	"2 old primaries twice, spare: 2 hops": {
		Value: 1, Processes: processes{{f}, {b}, {u}}, MaxHop: 2, FailoversOld: 2, TwoPrimaries: true, SpareReplica: true,
	},
	"2 new primaries: F, B, U; 3 hops": {Value: 1, Processes: processes{{f}, {b}, {u}}, MaxHop: 3, FailoversNew: 1, TwoPrimaries: true},
	"2 new primaries: F, B, U; 2 hops, 1 gives": {
		Value: 1, Processes: processes{{f}, {b}, {u}}, MaxHop: 2, GiveUps: 1, FailoversNew: 1, TwoPrimaries: true,
	},
	"2 primaries of both: F, B, U; 2 hops": {
		Value: 1, Processes: processes{{f}, {b}, {u}}, MaxHop: 2, FailoversOld: 1, FailoversNew: 1, TwoPrimaries: true,
	},
	"shortcuts: F then U, F then D, U; 1 gives": {Processes: processes{{f, u}, {f, d}, {u2}}, GiveUps: 1, Shortcuts: true},
	"shortcuts: F then U, B, U; 3 hops":         {Value: 1, Processes: processes{{f, u}, {b}, {u2}}, MaxHop: 3, Shortcuts: true},
	"shortcuts: F then U, B; 3 hops, 1 gives":   {Value: 1, Processes: processes{{f, u}, {b}}, MaxHop: 3, GiveUps: 1, Shortcuts: true},
	"shortcuts, 2 new primaries: F then U, B": {
		Value: 1, Processes: processes{{f, u}, {b}}, MaxHop: 3, Shortcuts: true, FailoversNew: 1, TwoPrimaries: true, SpareReplica: true,
	},
}

// large are those with more than half a million states.
var large = map[string]model.Config{
	"F, B, D then U, R; 3 hops, 1 gives up": {Value: 1, Processes: processes{{f}, {b}, {d, u}, {r}}, MaxHop: 3, GiveUps: 1},
	"F then B twice, U; 4 hops, 1 gives up": {Value: 1, Processes: processes{{f, b}, {f, b}, {u}}, MaxHop: 4, GiveUps: 1},
	"expiry: F then B, U, R; 2 ticks":       {Value: 1, TTL: 1, Processes: processes{{f, b}, {ttl}, {r}}, Ticks: 2, GiveUps: 1},
	"2 old primaries: F, B, U; 3 hops, 1 gives": {
		Value: 1, Processes: processes{{f}, {b}, {u}}, MaxHop: 3, GiveUps: 1, FailoversOld: 1, TwoPrimaries: true,
	},
	"2 old primaries, spare: 2 hops, 1 gives": {
		Value: 1, Processes: processes{{f}, {b}, {u}}, MaxHop: 2, GiveUps: 1, FailoversOld: 1, TwoPrimaries: true, SpareReplica: true,
	},
	"shortcuts, 2 old primaries: F then U, B, F": {
		Value: 1, Processes: processes{{f, u}, {b}, {f}}, MaxHop: 2, Shortcuts: true,
		FailoversOld: 1, TwoPrimaries: true, SpareReplica: true,
	},
}

func TestNothingIsLost(t *testing.T) { explore(t, configurations) }

func TestLongNothingIsLost(t *testing.T) {
	long.Only(t)
	explore(t, large)
}

func explore(t *testing.T, configurations map[string]model.Config) {
	for name, c := range configurations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := model.Explore(c)
			if got.Violation != "" {
				t.Fatalf("%s after %d states:\n%s", got.Violation, got.States, strings.Join(got.History, "\n"))
			}
			t.Logf("%d states, %d of them with nothing in flight", got.States, got.Quiet)
		})
	}
}

// TestControls explores protocols that lack one mechanism each. A limit is an event that the protocol
// cannot repair.
func TestControls(t *testing.T) {
	two := processes{{f}, {f}, {u}}
	const blocked = "a marker of the new store blocks the key when the old store is gone"
	for name, control := range map[string]struct {
		config model.Config
		want   string
	}{
		"unguarded copy":       {model.Config{Value: 1, Processes: two, GiveUps: 1, Copy: model.Put}, "does not hold the truth"},
		"copy if absent":       {model.Config{Value: 1, Processes: processes{{f}, {f}, {d}}, GiveUps: 1, Copy: model.Create}, "does not hold the truth"},
		"no hops":              {model.Config{Value: 1, Processes: processes{{f, b}, {f}, {u}}, GiveUps: 1, Decide: noHops}, "finds 1, the truth is 2"},
		"no third look":        {model.Config{Value: 1, Processes: processes{{f, b}, {f}, {u}}, GiveUps: 1, NoThirdLook: true}, "none has failed over"},
		"believes an old look": {model.Config{Value: 1, Processes: processes{{f}, {b}, {u}}, MaxHop: 4, Decide: believesOldLooks}, "both stores are home"},
		"durations":            {model.Config{Value: 1, TTL: 2, Processes: processes{{f}, {u}}, Ticks: 2, Durations: true}, "extended the expiry"},
		"a wait that counts as time to live": {
			model.Config{Value: 1, TTL: 3, Processes: processes{{f}}, Ticks: 2, FailoversOld: 1, WaitLives: true}, "extended the expiry",
		},
		"a seal that is not replicated": {
			model.Config{Value: 1, Processes: processes{{f}, {u}}, FailoversOld: 1, NoWait: true}, "both stores are home",
		},
		"a look is taken for a failover": {
			model.Config{Value: 1, Processes: processes{{f}, {b}, {u}}, MaxHop: 4, Decide: looksOnce}, "none has failed over",
		},
		"a forgotten seal is taken for an old look": {
			model.Config{
				Value: 1, Processes: processes{{f}, {b}}, MaxHop: 4, FailoversOld: 1, NoWait: true, OnlyHome: true, Decide: waitsForOthers,
			}, "looks again for ever",
		},
		"a forgotten mark is taken for a late seal": {
			model.Config{Value: 1, Processes: processes{{f}, {b}, {u}}, MaxHop: 3, FailoversOld: 1, Decide: forgetsMarks},
			"finds 1, the truth is 2",
		},
		"a reservation that is taken back": {
			model.Config{Processes: processes{{f}, {f}, {u}}, TakesBack: true}, "finds 0, the truth is 2",
		},
		"an old marker of an absent key that is deleted": {
			model.Config{Value: 1, Processes: processes{{f}, {d}, {u}, {{Kind: model.Reap}}}},
			"the old store is open and does not hold the truth",
		},
		"a reservation that no sweep visits": {
			model.Config{Value: 1, Processes: processes{{f}, {d}}, SweepsOldOnly: true}, blocked,
		},
		"a marker of a way back that no sweep visits": {
			model.Config{Value: 1, TTL: 1, Ticks: 1, Processes: processes{{f, b}}, SweepsOldOnly: true}, blocked,
		},
		"a seal for a marker of an isolated primary": {
			model.Config{
				Value: 1, Processes: processes{{f}, {b}, {u}}, MaxHop: 2,
				FailoversOld: 1, TwoPrimaries: true, SpareReplica: true, Trusts: protocol.Seal,
			}, "finds 1, the truth is 2",
		},
		"an unseal by a marker of an isolated primary": {
			model.Config{
				Value: 1, Processes: processes{{f}, {b}, {u}}, MaxHop: 3,
				FailoversOld: 1, TwoPrimaries: true, SpareReplica: true, Trusts: protocol.Unseal,
			}, "both stores are home",
		},
		"limit: 2 old primaries, and a spare replica": {
			model.Config{
				Value: 1, Processes: processes{{f}, {b}, {u}}, MaxHop: 3, GiveUps: 1,
				FailoversOld: 1, TwoPrimaries: true, SpareReplica: true,
			}, "finds 1, the truth is 2",
		},
		"limit: 2 new primaries, and a spare replica": {
			model.Config{
				Value: 1, Processes: processes{{f}, {b}, {u}}, MaxHop: 2, GiveUps: 1,
				FailoversNew: 1, TwoPrimaries: true, SpareReplica: true,
			}, "finds 1, the truth is 2",
		},
		"limit: blind SET": {model.Config{Value: 1, Processes: processes{{f}, {{Kind: model.Blind, Value: 7}}, {u}}}, "both stores are home"},
		"a reservation that is not replicated": {
			model.Config{Value: 1, Processes: processes{{f}, {r}}, FailoversNew: 1, UnreplicatedReservation: true},
			"finds 0, the truth is 1",
		},
		"a seal of a way back that is not replicated": {
			model.Config{Value: 1, Processes: processes{{f}, {b}, {u}}, MaxHop: 3, FailoversNew: 1, NoWait: true}, "both stores are home",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := model.Explore(control.config)
			if control.want == "" || !strings.Contains(got.Violation, control.want) {
				t.Fatalf("got %q after %d states, want a violation that says %q", got.Violation, got.States, control.want)
			}
			t.Logf("%s after %d states and %d events:\n%s", got.Violation, got.States, len(got.History)-1, strings.Join(got.History, "\n"))
		})
	}
}

// noHops takes the new store's seal for the late one when both stores are sealed.
func noHops(old, new protocol.Look) protocol.Step {
	if old.Kind == protocol.Sealed && new.Kind == protocol.Sealed && new.For != old.Nonce {
		return protocol.Step{Do: protocol.Unseal, Side: protocol.New, Nonce: new.Nonce}
	}
	return protocol.Decide(old, new)
}

// believesOldLooks takes the new store's seal for a late one although it names a later hop than the
// old store's marker had.
func believesOldLooks(old, new protocol.Look) protocol.Step {
	step := protocol.Decide(old, new)
	if step.If == protocol.OldIsUnchanged && new.Kind == protocol.Sealed {
		return protocol.Step{Do: protocol.Unseal, Side: protocol.New, Nonce: new.Nonce}
	}
	return step
}

// looksOnce does not look again before it fills a marker a second time.
func looksOnce(old, new protocol.Look) protocol.Step {
	step := protocol.Decide(old, new)
	if step.If == protocol.OldIsUnchanged {
		step.If = protocol.Always
	}
	return step
}

// waitsForOthers takes a look for old, whatever the next look says.
func waitsForOthers(old, new protocol.Look) protocol.Step {
	step := protocol.Decide(old, new)
	if step.If == protocol.OldIsUnchanged && new.For != old.Nonce {
		return protocol.Step{Do: protocol.Refuse}
	}
	return step
}

// forgetsMarks takes an old store's seal for a late one although the new store was sealed for it.
func forgetsMarks(old, new protocol.Look) protocol.Step {
	if old.Kind == protocol.Sealed && new.Kind == protocol.Sealed && new.For == old.Nonce {
		return protocol.Step{Do: protocol.Unseal, Side: protocol.Old, Nonce: old.Nonce}
	}
	return protocol.Decide(old, new)
}
