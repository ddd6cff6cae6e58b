// Package peers has the compared implementations behind one interface.
//
// Lock libraries are used as in their documentation: lock, GET, SET, unlock. Their SET does
// not depend on the lease, so a holder that stalls past its lease overwrites other updates.
// The benchmark has no such stalls. All implementations over go-redis have the same client
// options.
package peers
