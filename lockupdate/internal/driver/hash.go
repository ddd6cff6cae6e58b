package driver

import (
	"maps"

	"github.com/unwatch/unwatch/rmw"
)

// sendUnreadUpTo is the size of unread fields, in bytes, up to which a commit sends them.
const sendUnreadUpTo = 4 << 10

// Whole reports whether the commit sends all of Base, so that a result without Now means
// that the key held exactly Base.
func (r CommitRequest) Whole() bool {
	if !r.Reads.Partial || r.Key.Kind != rmw.KindHash {
		return true
	}
	unread := r.Base.Size()
	seen := map[string]bool{}
	for _, field := range r.Reads.Fields {
		if value, ok := r.Base.Field(field); ok && !seen[field] {
			unread -= len(field) + len(value)
		}
		seen[field] = true
	}
	return unread <= sendUnreadUpTo
}

// commitHash sends Base, the fields of the read set first. The script writes if those are
// unchanged. If another field differs, the script returns the hash it found, so that a
// Result never shows a field that was outdated.
//
// Of a large hash it sends the read set only, and the script returns nothing. Unread
// fields of the Result, and of the value that the next call in the queue gets, may then
// be older. If the next call reads one of them, the guard of its commit compares it.
func commitHash(r CommitRequest) *Command {
	const numbers = 7 // before the fields
	args := make([]any, numbers, numbers+2*(len(r.Reads.Fields)+1))
	first := map[string]bool{}
	var absent []any
	for _, field := range r.Reads.Fields {
		value, ok := r.Base.Field(field)
		switch {
		case first[field]:
		case ok:
			args = append(args, field, value)
		default:
			absent = append(absent, field)
		}
		first[field] = true
	}
	given, read := r.Base.Len(), -1
	if r.Reads.Partial {
		read = len(first) - len(absent)
	}
	sent := read
	if r.Whole() {
		for field, value := range r.Base.All() {
			if !first[field] {
				args = append(args, field, value)
			}
		}
		sent = given
	}
	args = append(args, absent...)
	sets, dels := -1, 0
	if r.Next.Exists() {
		d := DeltaOf(r.Base, r.Next)
		for field, value := range d.set {
			args = append(args, field, value)
		}
		for _, field := range d.removed {
			args = append(args, field)
		}
		sets, dels = len(d.set), len(d.removed)
	}
	copy(args, []any{expiryOf(r.TTL), given, read, len(absent), sent, sets, dels})
	return commitHashScript.on(r.Key.Name, args...)
}

// Delta is the difference between two hashes.
type Delta struct {
	set     map[string]string
	removed []string
}

// DeltaOf returns the Delta that makes to of from.
func DeltaOf(from, to rmw.Value) Delta {
	d := Delta{set: map[string]string{}}
	for field, value := range to.All() {
		if was, ok := from.Field(field); !ok || was != value {
			d.set[field] = value
		}
	}
	for field := range from.All() {
		if _, ok := to.Field(field); !ok {
			d.removed = append(d.removed, field)
		}
	}
	return d
}

// Apply returns v with the Delta.
func (d Delta) Apply(v rmw.Value) rmw.Value {
	return v.Edit(func(fields map[string]string) {
		for _, field := range d.removed {
			delete(fields, field)
		}
		maps.Copy(fields, d.set)
	})
}
