package mcc_test

import (
	"fmt"
	"reflect"
	"slices"
	"unicode/utf8"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/mcc"
)

// rules is a second opinion, which shares no code with the package: the rules of its
// document, as they show in what is stored.
type rules struct{ broken []string }

func (r *rules) want(ok bool, format string, args ...any) {
	if !ok {
		r.broken = append(r.broken, fmt.Sprintf(format, args...))
	}
}

func (r *rules) id(id string) {
	r.want(id != "" && len(id) <= 128 && utf8.ValidString(id), "an id of %d bytes", len(id))
}

func (r *rules) moments(all ...domains.Time) {
	for _, t := range all {
		r.want(t >= 0 && t <= 253402300799999, "the time %d", t)
	}
}

// brokenBy returns the rules that an agent breaks.
func brokenBy(a mcc.Agent) []string {
	r := &rules{}
	r.id(a.ID)
	if a.TenantID != "" {
		r.id(a.TenantID)
	}
	r.want(slices.Contains([]string{"online", "busy", "away", "offline"}, string(a.Status)), "the status is %q", a.Status)
	r.want(a.Max >= -1, "a limit of %d", a.Max)
	r.want(len(a.Groups) <= 64 && len(a.Slots) <= 10_000, "%d groups, %d slots", len(a.Groups), len(a.Slots))
	for _, g := range a.Groups {
		r.id(g)
	}
	r.moments(a.LastAssignedAt, a.StatusAt, a.UpdatedAt)
	for id, s := range a.Slots {
		r.id(id)
		r.moments(s.Since, s.Until)
		r.want(s.State == "reserved" || s.State == "held" && s.Until == 0, "a slot is %q until %d", s.State, s.Until)
		r.want(s.Epoch < 1<<53, "the epoch %d", s.Epoch)
	}
	r.want(a.Format >= 0 && a.Format <= 1, "the format is %d", a.Format)
	r.want(len(a.Applied) <= 32, "%d operations", len(a.Applied))
	seen := map[string]bool{"": true}
	for _, op := range a.Applied {
		r.want(!seen[op.ID], "the operation %q", op.ID)
		seen[op.ID] = true
	}
	return r.broken
}

// counts is how many slots count against the limit.
func counts(a mcc.Agent) int {
	n := 0
	for _, s := range a.Slots {
		if !s.Forced {
			n++
		}
	}
	return n
}

// brokenBetween returns the rules that one operation broke, of those that show in how an
// agent changes. limit was the agent's.
func brokenBetween(op string, before, after mcc.Agent, limit int) []string {
	r := &rules{}
	r.want(after.Version == before.Version+1, "version %d after %d", after.Version, before.Version)
	r.want(after.UpdatedAt >= before.UpdatedAt, "updated at %d after %d", after.UpdatedAt, before.UpdatedAt)
	for _, pair := range [][2]domains.Time{{before.StatusAt, after.StatusAt}, {before.LastAssignedAt, after.LastAssignedAt}} {
		r.want(pair[0] == pair[1] || pair[1] > pair[0] && pair[1] == after.UpdatedAt, "a time of %d after %d", pair[1], pair[0])
	}
	r.want(before.Status != after.Status || before.StatusAt == after.StatusAt, "a time of a status that has not changed")
	r.want(counts(after) == after.Load(), "a load of %d, by count %d", after.Load(), counts(after))
	r.want(limit == -1 || counts(after) <= max(limit, counts(before)), "%d slots, %d before, of %d", counts(after), counts(before), limit)
	r.want(after.ID == before.ID && after.TenantID == before.TenantID, "another agent")
	if op != "Reserve" && op != "Confirm" && op != "Release" {
		r.want(reflect.DeepEqual(before.Slots, after.Slots) || len(before.Slots)+len(after.Slots) == 0, "%s changed slots", op)
		return r.broken
	}
	r.want(before.Status == after.Status && before.Accepting == after.Accepting && before.Max == after.Max, "%s changed the agent", op)
	for id := range before.Slots {
		if _, still := after.Slots[id]; !still {
			r.want(op == "Release", "%s took a slot away", op)
		}
	}
	changed := 0
	for id, s := range after.Slots {
		old, there := before.Slots[id]
		if there && old == s {
			continue
		}
		changed++
		r.slot(op, before, old, there, s)
	}
	r.want(changed+len(before.Slots)-len(after.Slots) <= 1 || op == "Reserve", "%s changed %d slots", op, changed)
	r.want(changed <= 1, "%s changed %d slots", op, changed)
	return r.broken
}

// slot looks at how a slot changed, or came.
func (r *rules) slot(op string, before mcc.Agent, old mcc.Slot, there bool, s mcc.Slot) {
	r.want(there || op == "Reserve", "%s made a slot", op)
	r.want(s.Epoch >= old.Epoch, "epoch %d after %d", s.Epoch, old.Epoch)
	r.want(op != "Release", "a slot is changed by being released")
	if op == "Reserve" {
		r.want(before.Status == "online" && before.Accepting, "reserved with an agent who takes none")
		r.want(s.State == "reserved", "reserving leaves a slot %q", s.State)
		r.want(old.State != "held" || s.Epoch > old.Epoch, "what is held is reserved at the same epoch")
	}
	if op == "Confirm" {
		r.want(s.State == "held" && s.Forced == old.Forced && s.Since == old.Since, "confirmed, it is another slot")
	}
}
