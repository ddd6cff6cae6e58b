// Package driver is for authors of Stores. CheckWrite returns whether an Update writes and with
// which expiry, and Reads returns the fields of a hash that its fn has read.
package driver

import (
	"fmt"
	"time"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/internal/trace"
	"github.com/unwatch/unwatch/rmw/internal/ttl"
)

// CheckWrite tells a Store what to do with the value that fn returned
// for the given one: whether to write at all, and which expiry to leave (as in rmw.Key.TTL). The
// error, an [rmw.ErrWrongKind] or [rmw.ErrInvalid], means that next cannot be stored
// under key.
func CheckWrite(key rmw.Key, cur, next rmw.Value) (write bool, expiry time.Duration, err error) {
	if next.Exists() && next.Kind() != key.Kind {
		return false, 0, fmt.Errorf("%w: fn returned a %v for a Key of Kind %v", rmw.ErrWrongKind, next.Kind(), key.Kind)
	}
	own := next.TTL()
	if problem := ttl.Invalid(own); problem != "" {
		return false, 0, fmt.Errorf("%w: the TTL of the returned Value %s", rmw.ErrInvalid, problem)
	}
	if own != 0 {
		return true, own, nil
	}
	return !next.Equal(cur), key.TTL, nil
}

// Traced returns the value to give to fn so that [Reads] tells which fields fn has read. A Store that
// commits with a guard of its own may then compare these fields only, so that a concurrent change of
// another field does not make fn run again. A Value that is not a hash, or does not exist, is returned
// as it is.
func Traced(v rmw.Value) rmw.Value {
	if v.Len() == 0 {
		return v
	}
	return v.WithTrace(&trace.Reads{})
}

// Untraced returns the value without what [Traced] added.
func Untraced(v rmw.Value) rmw.Value { return v.WithTrace(nil) }

// Reads returns, in order, the fields of given, a result of [Traced], that fn has read or set or removed
// when it returned next and err. Given any other hash in which these are the same (in value, or in not
// being there), and which has more fields besides if this one had, the same fn makes the same changes to it.
//
// It returns false if fn depends on the whole hash: given is not traced, fn read all fields, or their
// number, or next, if err is nil, is not derived from given with [rmw.Value.With], [rmw.Value.WithFields]
// and [rmw.Value.Without].
func Reads(given, next rmw.Value, err error) (fields []string, ok bool) {
	reads := given.Trace()
	if reads == nil || err == nil && next.Trace() != reads {
		return nil, false
	}
	return reads.Fields()
}
