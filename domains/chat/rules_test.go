package chat_test

import (
	"slices"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/chat"
)

// The rules of the package doc, judged by what two states of a room look like. Nothing
// here asks Room.Check.

// brokenState returns the names of the rules that a room breaks as it is.
func brokenState(r *chat.Room) (broken []string) {
	rule := func(name string, holds bool) {
		if !holds {
			broken = append(broken, name)
		}
	}
	_, owned := r.Members[r.OwnerID]
	rule("cap", r.Cap >= 0 && (r.Cap == 0 || len(r.Members) <= r.Cap))
	rule("owner", owned == (len(r.Members) > 0) && owned == (r.OwnerID != ""))
	rule("status", r.Status == "open" || r.Status == "closed")
	rule("end", (r.Status == "closed") == (r.ClosedAt > 0))
	rule("times", r.CreatedAt <= r.ActiveAt && (r.ClosedAt == 0 || r.ClosedAt == r.ActiveAt))
	for _, m := range r.Members {
		rule("read", m.ReadSeq <= r.Seq)
		rule("joined", r.CreatedAt <= m.JoinedAt && m.JoinedAt <= r.ActiveAt)
	}
	for _, t := range []domains.Time{r.CreatedAt, r.ActiveAt, r.ClosedAt} {
		rule("real time", 0 <= t && t < 253402300800000)
	}
	ids := map[string]bool{}
	for _, a := range r.Applied {
		rule("remembered once", a.ID != "" && !ids[a.ID])
		ids[a.ID] = true
	}
	rule("remembered", len(r.Applied) <= 32 && (len(r.Applied) == 32 || len(r.Applied) == int(r.Version)))
	return broken
}

// brokenChange returns the names of the rules that an operation breaks which makes next
// of prev. The zero Room is none.
func brokenChange(prev, next *chat.Room, op string) (broken []string) {
	rule := func(name string, holds bool) {
		if !holds && !slices.Contains(broken, name) {
			broken = append(broken, name)
		}
	}
	if same := assert.ObjectsAreEqual(tidy(*prev), tidy(*next)); same || next.Version == prev.Version {
		rule("version", same)
		return broken
	}
	rule("version", next.Version == prev.Version+1)
	rule("closed", prev.Status != "closed")
	rule("transition", rowOf(prev, next, op) >= 0)
	rule("seq", next.Seq >= prev.Seq && next.Seq <= prev.Seq+1)
	rule("time", next.ActiveAt >= prev.ActiveAt)
	if prev.Status != "" {
		rule("identity", next.ID == prev.ID && next.TenantID == prev.TenantID && next.CreatedAt == prev.CreatedAt)
	}
	for id, m := range next.Members {
		old, stays := prev.Members[id]
		if stays {
			rule("read back", m.ReadSeq >= old.ReadSeq)
			rule("joined again", m.JoinedAt == old.JoinedAt)
			continue
		}
		rule("unread before", m.ReadSeq == prev.Seq)
		for _, other := range prev.Members {
			rule("joined before", m.JoinedAt >= other.JoinedAt)
		}
	}
	_, ownerStays := next.Members[prev.OwnerID]
	switch {
	case prev.OwnerID == "" || len(next.Members) == 0:
	case ownerStays:
		rule("owner", next.OwnerID == prev.OwnerID || op == "TransferOwner")
	default:
		heir := next.Members[next.OwnerID]
		for id, m := range next.Members {
			rule("heir", heir.JoinedAt < m.JoinedAt || heir.JoinedAt == m.JoinedAt && next.OwnerID <= id)
		}
	}
	if len(prev.Members) > 0 && len(next.Members) == 0 {
		rule("the last", (next.Status == "closed") != next.StayOpen)
	}
	return broken
}

// rowOf returns which row of the table the change is; -1 if there is none.
func rowOf(prev, next *chat.Room, op string) int {
	return slices.IndexFunc(chat.Transitions().Rows, func(row domains.Transition) bool {
		if row.Op != op {
			return false
		}
		if len(row.From) == 0 {
			return prev.Status == "" && string(next.Status) == row.To
		}
		to := row.To
		if to == "" {
			to = string(prev.Status)
		}
		return slices.Contains(row.From, string(prev.Status)) && string(next.Status) == to
	})
}
