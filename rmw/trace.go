package rmw

import (
	"maps"
	"slices"
	"sync"
)

// Trace records which fields of its hash an [UpdateFunc] has read. A Store that
// commits with a guard of its own may then compare these fields only, so that a
// concurrent change of another field does not make fn run again. It is safe for concurrent use.
type Trace struct {
	mu    sync.Mutex
	whole bool
	names map[string]struct{}
}

// Traced returns the value, and the Trace of later reads of it and of values
// derived from it. Of a Value that is not a hash, or does not exist,
// everything is taken to be read.
func (v Value) Traced() (Value, *Trace) {
	t := &Trace{}
	if v.Len() == 0 {
		t.whole = true
		return v, t
	}
	c := v.get()
	c.trace = t
	traced := valueOf(&c)
	traced.ttl = v.ttl
	return traced, t
}

// Untraced returns the value without its Trace.
func (v Value) Untraced() Value {
	c := v.get()
	if c.trace == nil {
		return v
	}
	c.trace = nil
	plain := valueOf(&c)
	plain.ttl = v.ttl
	return plain
}

// Reads returns, in order, the fields that fn has read or set or removed when it
// returned next. Given any other hash in which these are the same (in value, or in not
// being there), and which has more fields besides if this one had, the same fn makes the
// same changes to it.
//
// It returns false if fn depends on the whole hash: it read
// all fields, or their number, or next is not derived from the given value
// with [Value.With], [Value.WithFields] and [Value.Without].
func (t *Trace) Reads(next Value) (fields []string, ok bool) {
	if next.get().trace != t {
		return nil, false
	}
	return t.ReadsAnyway()
}

// ReadsAnyway is Reads for an fn that has returned an error, and so no value.
func (t *Trace) ReadsAnyway() (fields []string, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.whole {
		return nil, false
	}
	return slices.Sorted(maps.Keys(t.names)), true
}

func (t *Trace) read(names ...string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, name := range names {
		if t.names == nil {
			t.names = make(map[string]struct{})
		}
		t.names[name] = struct{}{}
	}
}

func (t *Trace) readAll() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.whole = true
}
