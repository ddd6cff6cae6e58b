// Package shadow runs two paths to the same data side by side and reports whether the
// second one may take over. The serving path answers. The Store records its calls and plays
// them on the hidden path in the background:
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
// To run each update on both stores and compare the results proves nothing: concurrent calls
// arrive in different orders, and the results differ without a fault. So the package
// compares in three ways. Each has a blind spot that another one covers:
//
//   - Seeded replay writes the value that the serving path read to a scratch key of the
//     hidden path, repeats the update there, and compares the value, the expiry and the
//     error. It finds codecs, expiries and errors that differ.
//   - Lockstep applies each update to the hidden path's own key, in the serving path's order
//     of commits: each update waits until the key holds the value that it was computed from.
//     Lockstep keeps the hidden store ready to take over.
//   - Free run lets updates of a scratch key race on the hidden path, and audits the chain of
//     their commits: each acknowledged commit must be in the chain, once. One call in four is
//     a forced conflict: two updates of a new scratch key overlap, and one of them may delete
//     the key. Its fn takes as long as on the serving path, from 10 ms to a quarter of
//     Config.Timeout. Only the free run finds lost updates.
//
// The verifier, [Store.Verify], reads the touched keys of both stores and compares values
// and expiries, in both directions. It skips keys that change meanwhile.
//
// # Playback and pure operations
//
// By default no function runs twice: the Store plays back the update's result. An UpdateFunc
// writes variables of its caller, so a second run would be a data race and would repeat its
// side effects. The two paths differ in how they read, lock, guard and commit, not in what
// the service computes. Operations that are registered as pure ([Config.Pure]) run again,
// with the same [Env]: the same time, ids and random numbers. A pure operation that returns
// another result is reported as nondeterministic.
//
// # Cost and safety
//
// A sampled call costs its caller two readings of the clock, two hashes and a place in a
// queue. It allocates nothing and never waits, in any state of the other store. When
// the queue is full, by count or by bytes, the Store drops calls and counts them. The hidden
// path has its own workers, time limits, rate limit and circuit breaker; a panic there is
// counted, and [slog.Default] gets the stack of the first one. [Store.Kill] switches everything
// off, for good, without a call of any store.
//
// The Store samples whole keys, by a hash of their names, and never single updates: a chain
// with a missing link proves nothing.
//
// Scratch keys are named after the key, in the same slot. "~seed:{key}:id" and
// "~pair:{key}:id" live for a minute, or until they are cleared if the update removed the
// expiry. "~free:{key}" lives for ten minutes. In a fleet, "~trail:{key}" lives for an hour:
// each process notes there the values that it mirrors, so that any other value is foreign.
//
// # Limits
//
// A process does not know which calls another one dropped, nor their order. So in a fleet, a
// key that differs is copied anew. The difference is a finding only if the hidden store
// holds a value that is not in ~trail:{key}. A value that returns after it was
// overwritten, and a key that another program deleted, are a drift_gap there; while that
// goes on, the verifier's rounds do not settle, and the end state stays closed. An expiry is
// a finding if it is wrong again after the verifier set it. A key that lives no longer than
// [Domain.TTLTolerance] may expire before it is read. Lockstep compares nothing of a key
// that changes its kind while a call of it is missed.
//
// Lockstep serialises the updates of a key, so the report takes latencies from the free run.
// The bounds of the report hold for calls like those that were seen; the gates show the
// operation with the fewest.
package shadow
