// Package cutover moves keys from one Redis to another, one key at a time, while processes update
// them. No update is lost, in either direction, and no key is without a home for longer than the two
// commands of its move.
//
//	stage := cutover.FromKey("desk", before, after)
//	store := cutover.New(
//		cutover.Side{Store: before, Redis: old},
//		cutover.Side{Store: after, Redis: proxy},
//		cutover.Config{Stage: stage})
//
// A service links this package. The Store moves a key when a process updates it, and [Locks] are for
// critical sections. An operator uses package operate, or the command migrate-check cutover: it publishes the
// stages, moves the keys that no process updates, and checks all of them.
//
// # How a key moves
//
// In each store a key is open, or it is a marker, which says that the other store has the value. To
// move a key forward, a process sends four scripts, each on this one key:
//
//	new: reserve    a marker where nothing was; the old store serves
//	old: seal       a marker with the value in it; from here neither store serves
//	new: fill       the value, over that very reservation; from here the new store serves
//	old: mark       the value has arrived
//
// A way back is the same with the stores exchanged. Any process that finds a key sealed completes
// its move, so a process may die after each command, and each command may be executed late or sent
// again. Package cutover/internal/model explores every such order.
//
// A marker is a Redis list. Code that knows nothing of a cut-over gets a WRONGTYPE error where it
// reads a string or a hash, or an [rmw.ErrWrongKind], and writes nothing: a WATCH transaction,
// package cas and package lockupdate are safe beside a cut-over. Code that writes without a look
// (SET, DEL, EXPIRE) destroys markers, and no command on one key can stop it. Find it with
// migrate-check before the first key moves.
//
// # Conditions
//
//   - Both servers execute Lua scripts, and neither evicts keys without an expiry
//     (maxmemory-policy noeviction or volatile-*).
//   - The new store holds no keys of these names beforehand.
//   - Every process uses this package before the first key moves, or refuses markers as above.
//
// A failover that forgets acknowledged writes is answered as far as one key can tell: docs/cutover.md
// lists what remains.
package cutover
