package operate

import (
	"fmt"
	"slices"

	"github.com/unwatch/unwatch/cutover"
)

// passesNeeded is the number of passes in a row that must find nothing: a key that is created behind
// the cursor of one pass is seen by the next.
const passesNeeded = 2

// gateVerify is the gate of Ready that Publish demands for Complete.
const gateVerify = "verify"

// figure is a count that must be 0.
type figure struct {
	name string
	keys Keys
	do   string
}

// of says whether a result is of the cut-over, at the present epoch.
func (n Scanned) of(present cutover.Stage, name string) bool {
	return n.Cutover == name && n.Epoch == present.Epoch && n.Epoch > 0
}

// whole are the figures of a result that does not cover all names. counted is the number of chosen names
// in its counts: fewer are in a record that is edited, or of another version.
func (n Scanned) whole(result string, counted int) []figure {
	left := n.LeftOut
	left.Count += max(n.Names-n.Chosen-n.Foreign-n.LeftOut.Count, n.Chosen-counted, 0)
	return []figure{
		{result + "masters missed", Keys{Count: max(n.AllMasters, 1) - n.Masters},
			"give a client of every master of the old store, and let it end"},
		{result + "names left out", left,
			"choose them by SweepConfig.Keys (-keys), or name those of other services in SweepConfig.Foreign (-foreign)"},
	}
}

func (p Pass) figures() []figure {
	counted := p.Moved + p.There + p.Kept + p.Completed + p.Gone + p.Stay() + p.Failed.Count
	return append(p.whole("", counted), []figure{
		{"open keys", Keys{Count: p.Moved + p.Kept}, "sweep again; if some stay, old code writes them"},
		{"keys in transit", Keys{p.Completed + p.Failed.Count, p.Failed.Names}, "sweep again; if some stay, look at the new store"},
		{"keys too large", p.TooLarge, "raise Config.MaxSeal, or make them smaller"},
		{"keys of other types", p.OtherType, "copy them behind a fence, and delete the old ones"},
		{"hashes with field expiries", p.FieldExpiry, "HPERSIST the fields and give the key an expiry, or copy the hashes behind a fence"},
		{"keys with two values", p.Refused, "migrate-check cutover repair shows both values, and keeps the one that you name"},
	}...)
}

// swept returns a gate for each figure of the last passes.
func swept(present cutover.Stage, e Evidence) []Gate {
	passes := slices.DeleteFunc(slices.Clone(e.Passes), func(p Pass) bool { return p.Cutover != e.Name })
	first := len(passes)
	for first > 0 && passes[first-1].of(present, e.Name) && len(passes)-first < passesNeeded {
		first--
	}
	passes = passes[first:]
	count := Gate{
		Name: "passes", Have: fmt.Sprintf("%d at epoch %d", len(passes), present.Epoch), Need: fmt.Sprintf("%d in a row", passesNeeded),
		State: GateOpen,
	}
	if len(passes) < passesNeeded {
		count.State, count.Do = GateUnknown, "sweep again at this epoch"
	}
	gates := []Gate{count}
	for i, f := range (Pass{}).figures() {
		f.keys = Keys{}
		for _, p := range passes {
			if one := p.figures()[i].keys; one.Count > f.keys.Count {
				f.keys = one
			}
		}
		gates = append(gates, f.gate(count, fmt.Sprintf("0 in %d passes", passesNeeded)))
	}
	return gates
}

// gate is the condition that the figure is 0, in results that the gate count counts.
func (f figure) gate(count Gate, need string) Gate {
	g := zero(f.name, f.keys, f.do)
	if g.Need = need; g.State == GateOpen {
		g.State, g.Do = count.State, count.Do
	}
	return g
}

// verified returns a gate for each figure of the last Verify.
func verified(present cutover.Stage, e Evidence) []Gate {
	count := Gate{
		Name: gateVerify, Have: fmt.Sprintf("none at epoch %d", present.Epoch), Need: "1 at this epoch", State: GateUnknown,
		Do: "verify at this epoch, with SweepConfig.NewMasters (-new-masters)",
	}
	last := Report{}
	for _, r := range slices.Backward(e.Reports) {
		if r.Cutover == e.Name {
			if last = r; r.of(present, e.Name) {
				count.State, count.Have, count.Do = GateOpen, fmt.Sprintf("1 at epoch %d", present.Epoch), ""
			}
			break
		}
	}
	gates := []Gate{count}
	for _, f := range last.figures(present.Phase == cutover.Complete) {
		if count.State != GateOpen {
			f.keys = Keys{}
		}
		gates = append(gates, f.gate(count, "0"))
	}
	return gates
}

func (r Report) figures(complete bool) []figure {
	late := Keys{r.Leftover.Count + r.Transit.Count, slices.Concat(r.Leftover.Names, r.Transit.Names)}
	figures := append(r.whole("verify: ", r.counted()),
		figure{"verify: new masters missed", Keys{Count: max(r.AllNewMasters, 1) - r.NewMasters},
			"name every server of the new store in SweepConfig.NewMasters (-new-masters), behind its proxy"},
		figure{"markers left over", late, "sweep with SweepConfig.NewMasters (-new-masters), and verify again"})
	if complete {
		return figures
	}
	return append(figures,
		figure{"keys not moved", Keys{Count: r.Open + r.Stay()}, "sweep, and verify again"},
		figure{"wrong keys", Keys{Count: r.Wrong()}, "verify names them: find their writer, then migrate-check cutover repair"})
}

// counted is the number of names in the counts, at least those of the old store.
func (r Report) counted() int {
	return r.Open + r.Equal + r.ChangedSince + r.Transit.Count + r.Gone + r.Stay() + r.Wrong()
}
