// Package peers puts the implementations that are compared behind one method, so
// that they differ in nothing but how they update a key.
//
// A lock library is used as its own documentation shows: lock, GET, SET, unlock.
// Nothing there ties the SET to the lease, so that a holder who stalls past its
// lease overwrites what others wrote; the benchmark stalls nobody. All that go
// over go-redis share the same client options.
package peers
