package rmw

import (
	"fmt"
	"time"

	"github.com/unwatch/unwatch/rmw/internal/ttl"
)

// Kind is the type of the value under a key.
type Kind uint8

const (
	// KindString is a Redis string: opaque bytes. It is the zero Kind.
	KindString Kind = iota
	// KindHash is a Redis hash: named fields, each with opaque bytes. An Update or Read of a hash reads all fields, also if fn
	// needs one, and all fields have one lock. With 10,000 fields of 1 KB that is 10 MB and 70 ms or more for each update,
	// where HGET takes 0.1 ms. For a table with a row in each field, use a key for each row.
	KindHash
)

// String returns the name that the Redis command TYPE gives the Kind.
func (k Kind) String() string {
	switch k {
	case KindString:
		return "string"
	case KindHash:
		return "hash"
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// NoTTL as a TTL removes the expiry: the key lives until it is deleted.
const NoTTL time.Duration = -1

// Key names the key of an Update and its expiry. The zero Kind
// and TTL are usable: a string whose expiry stays as it is.
type Key struct {
	// Name is the key as the store knows it: any bytes, but not empty.
	Name string

	// Kind is the type the value has, or shall have once it is created. Every call reads all fields of a KindHash.
	Kind Kind

	// TTL is the expiry a write leaves behind, counted from that write:
	//
	//	0      as it was; a key that did not exist gets none
	//	> 0    this long, in whole milliseconds (at least one)
	//	NoTTL  none
	//
	// An Update that writes nothing leaves the expiry alone.
	// [Value.WithTTL] overrides it for one write.
	TTL time.Duration

	// Label groups keys for logs, events and statistics ("room", "session").
	// It must be one of few, unlike Name. It has no effect on the stored value.
	Label string
}

// Validate reports, as an [ErrInvalid], what makes the key unusable.
func (k Key) Validate() error {
	switch {
	case k.Name == "":
		return fmt.Errorf("%w: Key.Name is empty; name the key to update", ErrInvalid)
	case k.Kind > KindHash:
		return fmt.Errorf("%w: Key.Kind is %d; use KindString or KindHash", ErrInvalid, uint8(k.Kind))
	}
	if problem := ttl.Invalid(k.TTL); problem != "" {
		return fmt.Errorf("%w: Key.TTL %s", ErrInvalid, problem)
	}
	return nil
}
