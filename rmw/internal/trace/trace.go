// Package trace records which fields of a hash have been read.
package trace

import (
	"maps"
	"slices"
	"sync"
)

// Reads are the fields that have been read. A nil *Reads records nothing. It is safe for
// concurrent use.
type Reads struct {
	mu    sync.Mutex
	whole bool
	names map[string]struct{}
}

// Add records the named fields.
func (r *Reads) Add(names ...string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range names {
		if r.names == nil {
			r.names = make(map[string]struct{})
		}
		r.names[name] = struct{}{}
	}
}

// AddAll records all fields, or their number.
func (r *Reads) AddAll() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.whole = true
}

// Fields returns the recorded fields in order, or false if all have been read.
func (r *Reads) Fields() (names []string, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.whole {
		return nil, false
	}
	return slices.Sorted(maps.Keys(r.names)), true
}
