package rmw

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/unwatch/unwatch/rmw/internal/trace"
)

// Value is the content of a key: nothing, a string or a hash. The zero Value means
// that there is no such key; an empty string is a value, an empty hash is not
// (Redis has none). A Value never changes; the methods that edit return a new
// one. It is safe for concurrent use.
//
// Printing or logging a Value shows its kind and size, never its content.
type Value struct {
	_ [0]func() // == would compare pointers; use Equal

	// content is nil if there is no such key. fmt shows a Value in an
	// unexported field without calling its methods. It does not follow pointers
	// there, except one whose verb is wrong (%s); two it never follows.
	content **content
	ttl     time.Duration // 0: what Key.TTL says
}

// content is immutable after construction, but for the trace.
type content struct {
	kind   Kind
	text   string
	fields map[string]string
	trace  *trace.Reads // nil: reads are not traced
}

// String returns a Value of KindString. It may be empty and may hold any bytes.
func String(s string) Value { return valueOf(&content{text: s}) }

// Bytes returns a Value of KindString with a copy of b.
func Bytes(b []byte) Value { return String(string(b)) }

// Hash returns a Value of KindHash with a copy of fields. No fields at all give
// the zero Value, as in Redis, where a hash without fields does not exist.
func Hash(fields map[string]string) Value { return hashOf(maps.Clone(fields)) }

// hashOf takes over fields.
func hashOf(fields map[string]string) Value {
	if len(fields) == 0 {
		return Value{}
	}
	return valueOf(&content{kind: KindHash, fields: fields})
}

func valueOf(c *content) Value { return Value{content: &c} }

// get returns the content, that of an empty string if there is none.
func (v Value) get() content {
	if v.content == nil {
		return content{}
	}
	return **v.content
}

// Exists reports whether there is a value at all.
func (v Value) Exists() bool { return v.content != nil }

// Kind returns the value's kind. It means nothing for a Value that does not exist.
func (v Value) Kind() Kind { return v.get().kind }

// Text returns the content of a string, and "" for anything else.
func (v Value) Text() string { return v.get().text }

// Field returns one field of a hash and whether it is there.
func (v Value) Field(name string) (string, bool) {
	c := v.get()
	c.trace.Add(name)
	s, ok := c.fields[name]
	return s, ok
}

// Len returns the number of fields of a hash, and 0 for anything else.
func (v Value) Len() int { return len(v.all()) }

// Fields returns a copy of the hash's fields: nil for anything else.
func (v Value) Fields() map[string]string { return maps.Clone(v.all()) }

// All iterates over the hash's fields in no order, without copying them.
func (v Value) All() func(yield func(name, value string) bool) {
	return maps.All(v.all())
}

// all returns the fields, and traces them all as read.
func (v Value) all() map[string]string {
	c := v.get()
	c.trace.AddAll()
	return c.fields
}

// With returns the hash with one field set. A Value that does not exist becomes
// a hash. On a string it returns a hash of that one field, which a Store then
// refuses with [ErrWrongKind] under a string Key.
func (v Value) With(name, value string) Value {
	return v.change(func(fields map[string]string) { fields[name] = value }, name)
}

// WithFields is With for several fields, and copies the others only once.
func (v Value) WithFields(set map[string]string) Value {
	if len(set) == 0 {
		return v
	}
	return v.change(func(fields map[string]string) { maps.Copy(fields, set) }, slices.Collect(maps.Keys(set))...)
}

// Without returns the hash without the named fields; the zero Value when none
// is left.
func (v Value) Without(names ...string) Value {
	return v.change(func(fields map[string]string) {
		for _, name := range names {
			delete(fields, name)
		}
	}, names...)
}

// Edit returns the hash as edit leaves it. edit gets a copy of the fields, never
// nil, and must not hold on to it.
func (v Value) Edit(edit func(fields map[string]string)) Value {
	v.all()
	return v.change(edit)
}

// change is Edit by a function that reads the named fields only.
func (v Value) change(edit func(fields map[string]string), names ...string) Value {
	c := v.get()
	fields := maps.Clone(c.fields)
	if fields == nil {
		fields = make(map[string]string)
	}
	edit(fields)
	if len(fields) == 0 {
		c.trace.AddAll() // each of them could have been one more
		return Value{}
	}
	c.trace.Add(names...)
	next := valueOf(&content{kind: KindHash, fields: fields, trace: c.trace})
	next.ttl = v.ttl
	return next
}

// WithTTL returns the value with an expiry of its own, which overrides Key.TTL:
// a duration of at least a millisecond, or [NoTTL]. Such a value is written even
// if the key has the same content already. So
//
//	return cur.WithTTL(30 * time.Minute), nil
//
// restarts a key's expiry and changes nothing else. A Value that does not exist
// is returned as it is.
func (v Value) WithTTL(d time.Duration) Value {
	if v.Exists() {
		v.ttl = d
	}
	return v
}

// TTL returns the expiry that [Value.WithTTL] asked for, and 0 if it was not
// called. It is not the remaining lifetime of a stored value.
func (v Value) TTL() time.Duration { return v.ttl }

// Equal reports whether both hold the same content: both nothing, the same
// string, or the same fields. A TTL asked for does not matter.
func (v Value) Equal(w Value) bool {
	a, b := v.get(), w.get()
	a.trace.AddAll()
	b.trace.AddAll()
	return v.Exists() == w.Exists() && a.kind == b.kind && a.text == b.text && maps.Equal(a.fields, b.fields)
}

// Trace returns the record of WithTrace, or nil. It is for package rmw/driver.
func (v Value) Trace() *trace.Reads { return v.get().trace }

// WithTrace returns the value with later reads of it, and of values derived from it,
// recorded in reads, or nowhere if that is nil. It is for package rmw/driver.
func (v Value) WithTrace(reads *trace.Reads) Value {
	c := v.get()
	if c.trace == reads {
		return v
	}
	c.trace = reads
	next := valueOf(&c)
	next.ttl = v.ttl
	return next
}

// Size returns the bytes of the content: those of the string, or of all field
// names and values.
func (v Value) Size() int {
	if v.Kind() != KindHash {
		return len(v.Text())
	}
	n := 0
	for name, value := range v.All() {
		n += len(name) + len(value)
	}
	return n
}

// ApproxSize estimates Size in constant time and without an allocation, by some of a
// large hash's fields. It is for code that bounds memory on the path of a call.
func (v Value) ApproxSize() int {
	if v.Kind() != KindHash {
		return len(v.Text())
	}
	const looks = 8
	fields := v.all()
	n, seen := 0, 0
	for name, value := range fields {
		if seen++; seen > looks {
			return n / looks * len(fields)
		}
		n += len(name) + len(value)
	}
	return n
}

// String describes the value by kind and size. The content may be private, so it
// is not shown; [Value.Text] returns it.
func (v Value) String() string {
	switch {
	case !v.Exists():
		return "absent"
	case v.Kind() == KindHash:
		return fmt.Sprintf("hash(%d fields, %d bytes)", v.Len(), v.Size())
	}
	return fmt.Sprintf("string(%d bytes)", v.Size())
}

// GoString keeps %#v from showing the content.
func (v Value) GoString() string { return "rmw.Value(" + v.String() + ")" }

// LogValue keeps slog from showing the content.
func (v Value) LogValue() slog.Value { return slog.StringValue(v.String()) }

var (
	_ slog.LogValuer = Value{}
	_ fmt.GoStringer = Value{}
)
