// Package shadow runs two paths to the same data side by side and tells whether the
// second may take over. A service answers from its serving path as before; what it does
// there is recorded, and played on the other path in the background, where it can hurt
// nobody:
//
//	store := shadow.New(cas.New(old, cas.Config{}), lockupdate.New(proxy, lockupdate.Config{}),
//		shadow.Config{Name: "session"})
//	defer store.Close()
//	mux.Handle("/debug/shadow/", store.Handler())
//
// The page says ready, not ready because, or not enough data.
//
// # Three comparators and a verifier
//
// To run the same update on both stores and compare the results tells nothing: two calls
// at once come in another order there, and everything differs without a fault. So there
// are three ways to compare, each blind to what another sees:
//
//   - Seeded replay puts the very value that the serving path has read under a scratch
//     key of the other store, lets the other path do the same update, and compares the
//     value, the expiry and the error. It finds codecs, expiries and errors that differ.
//   - Lockstep applies each update to the other store's own key, in the order in which
//     the serving path has committed: each waits until the key holds what its update was
//     computed from. It keeps the other store ready to take over.
//   - Free run lets updates of a scratch key race on the other path, as they raced on
//     the serving one, and audits the chain of the commits: each one that was
//     acknowledged must be in it, once. For one call in four it forces a conflict: two
//     updates of a new scratch key overlap, one of which may delete it. There, fn takes as
//     long as it took on the serving path, from 10 ms to a quarter of Config.Timeout. Only
//     the free run finds lost updates.
//
// The verifier, [Store.Verify], reads the touched keys of both stores while nobody changes
// them and compares values and expiries, in both directions.
//
// # What is run again, and what is not
//
// By default nothing is: the update's result is played back. An UpdateFunc writes
// variables of its caller, so running it once more behind his back would be a race, and
// a side effect would happen twice. The two paths differ in how they read, lock, guard
// and commit, not in what the service computes. Operations that are registered as pure
// ([Config.Pure]) are run again, with the same [Env]: same time, same ids, same chance.
// One that nevertheless does not return the same is reported as non-deterministic.
//
// # What it costs, and what it cannot do to you
//
// A call that is sampled pays for taking the time, two hash sums and a place in a queue:
// no allocation, and no wait, whatever state the other store is in. When the queue is
// full, by count or by bytes, calls are dropped, and counted. The other path has workers,
// time limits, a rate limit and a circuit breaker of its own; a panic in it is counted.
// [Store.Kill] switches everything off, for good, without talking to anybody.
//
// Whole keys are sampled, by a hash of their names, never single calls: a chain with a
// missing link proves nothing.
//
// Scratch keys are named after the key, in the same slot: "~seed:{key}:id", which lives
// for a minute (but for an update that takes the expiry away: then until it is cleared),
// "~pair:{key}:id", likewise for a minute, and "~free:{key}", for ten; in a fleet also "~trail:{key}", for an hour, where each
// process notes what it mirrors, so that what nobody has is foreign.
//
// # What it does not show
//
// A process cannot know what another one has dropped, or in which order. So in a fleet, a
// key that differs is copied anew, and is a finding only if the other store holds a value
// that is not in the key's trail: digests of what the fleet has mirrored there lately. A
// value that is back after it was overwritten, and a key that somebody has deleted, are a
// drift_gap there; while that goes on, the verifier's rounds do not settle, and the gate of
// the end state stays closed. An expiry is a finding if it is wrong again after the
// verifier has set it. What lives no longer than [Domain.TTLTolerance] may be gone before
// it is looked at. Of a key that changes its kind while a call of it is missed, lockstep
// knows nothing.
//
// Lockstep serialises the updates of a key, so that its latencies mean little; those of
// the report are of the free run. The report's bounds are for calls like those that were
// seen. It knows what it was not shown: the gates say how thin the thinnest operation is.
package shadow
