// Package protocol decides how one key moves between two stores that share nothing, the old one
// and the new one. It is pure: it sees looks at the key and answers with the next command.
//
// # States
//
// In each store a key is in one of three states:
//
//   - open: an ordinary value, or absent.
//   - sealed(s, f): a marker with nonce s. It holds the value, which is on its way to the other
//     store, and f, the nonce of the other store's marker that the value will replace.
//   - away(s, f): a marker with nonce s. The other store is the home of the key. A marker that was
//     sealed before keeps f and the value. A reservation has no f.
//
// The seal of an update of several keys counts as open, and no command changes it: package internal/seal has the table of
// all marks.
//
// Seven commands change these states, each atomically and on one store:
//
//	reserve(n)          absent      -> away(n)
//	seal(s, f)          open        -> sealed(s, f, value)
//	fill(n, value)      away(n, *)  -> open(value)
//	mark(s)             sealed(s)   -> away(s), value kept
//	unseal(s)           sealed(s)   -> open(value)
//	unreserve(n)        reservation n -> absent
//	commit(old, next)   open(old)   -> open(next): an update of the home
//
// A command that finds another state changes nothing. Each marker is there only once, so a command
// that names a nonce may be sent again, by any process, at any time.
//
// # A move
//
// Forward: reserve the new store, seal the old one for that reservation, fill the new one over
// that very reservation, mark the old one. Backward is the same with the stores exchanged, and the
// marker of the old store is the reservation. Any process that finds a move half done completes it.
//
// The hop of a nonce is 0 for a reservation and one more than the hop of the marker that it was
// sealed for otherwise. It grows along the life of a key, and tells a late seal from a seal that
// is due.
//
// Package model explores every order of these commands with every message arbitrarily late.
package protocol
