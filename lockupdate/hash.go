package lockupdate

import (
	"maps"

	"github.com/unwatch/unwatch/rmw"
)

// tellUpTo is the size, in bytes, of fields that fn has not read, up to which they are
// sent along all the same.
const tellUpTo = 4 << 10

// commitHash sends the hash that was read, those fields first that fn went by: the
// script writes if these are as they were, and if another one is not, it tells, so that
// an answer to a caller never shows what no longer was.
//
// Of a large hash, it sends only what fn went by, and nothing is told: what fn has not
// read may then be older in the answer, and in what the next in line is given. If that
// one reads it, the guard of its own commit sees it.
func commitHash(w write, plain bool) *call {
	const numbers = 7 // before the fields
	given, known, missing, sent, sets, dels := -1, -1, 0, -1, -1, 0
	args := make([]any, numbers, numbers+2*(len(w.reads.fields)+1))
	if !plain {
		first := map[string]bool{}
		var absent []any
		for _, field := range w.reads.fields {
			value, ok := w.cur.Field(field)
			switch {
			case first[field]:
			case ok:
				args = append(args, field, value)
			default:
				absent = append(absent, field)
			}
			first[field] = true
		}
		given, missing = w.cur.Len(), len(absent)
		if w.reads.partly {
			known = len(first) - missing
		}
		if sent = known; w.whole() {
			for field, value := range w.cur.All() {
				if !first[field] {
					args = append(args, field, value)
				}
			}
			sent = given
		}
		args = append(args, absent...)
	}
	if w.next.Exists() {
		c := changeOf(w.cur, w.next)
		for field, value := range c.set {
			args = append(args, field, value)
		}
		for _, field := range c.removed {
			args = append(args, field)
		}
		sets, dels = len(c.set), len(c.removed)
	}
	copy(args, []any{expiry(w.ttl), given, known, missing, sent, sets, dels})
	return commitHashScript.on(w.key.Name, args...)
}

// whole reports whether all that w.cur has is sent along, so that what the commit does
// not tell is as it was read.
func (w write) whole() bool {
	if !w.reads.partly || w.key.Kind != rmw.KindHash {
		return true
	}
	unread := w.cur.Size()
	seen := map[string]bool{}
	for _, field := range w.reads.fields {
		if value, ok := w.cur.Field(field); ok && !seen[field] {
			unread -= len(field) + len(value)
		}
		seen[field] = true
	}
	return unread <= tellUpTo
}

// change is what makes another hash of one.
type change struct {
	set     map[string]string
	removed []string
}

func changeOf(from, to rmw.Value) change {
	c := change{set: map[string]string{}}
	for field, value := range to.All() {
		if was, ok := from.Field(field); !ok || was != value {
			c.set[field] = value
		}
	}
	for field := range from.All() {
		if _, ok := to.Field(field); !ok {
			c.removed = append(c.removed, field)
		}
	}
	return c
}

func (c change) apply(v rmw.Value) rmw.Value {
	return v.Edit(func(fields map[string]string) {
		for _, field := range c.removed {
			delete(fields, field)
		}
		maps.Copy(fields, c.set)
	})
}

// rebase puts what an update did onto the hash that was there when it was committed.
// What its fn read was the same there, so fn would have done the same.
func (u *update) rebase(held rmw.Value) {
	given := u.given
	u.given = held
	if !u.wrote {
		u.after = held
		return
	}
	u.after = changeOf(given, u.after).apply(held)
}

// rebase puts what a group did onto the hash that was there when it was committed.
func (g *group) rebase(held rmw.Value) {
	g.base, g.value = held, held
	for _, u := range g.members {
		u.rebase(g.value)
		g.value = u.after
	}
}
