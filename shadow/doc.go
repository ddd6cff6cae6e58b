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
// # Two comparators
//
// To run each update on both stores and compare the results proves nothing: concurrent calls
// arrive in different orders, and the results differ without a fault. So the package
// compares in two ways, on scratch keys of the hidden path. It writes no key of the service there.
// Each way has a blind spot that the other one covers:
//
//   - Seeded replay writes the value that the serving path read to a scratch key of the
//     hidden path, repeats the update there, and compares the value, the expiry and the
//     error. It finds codecs, expiries and errors that differ.
//   - Free run lets updates of a scratch key race on the hidden path, and audits the chain of
//     their commits: each acknowledged commit must be in the chain, once. One call in four is
//     a forced conflict: two updates of a new scratch key overlap, and one of them may delete
//     the key. Its fn takes as long as on the serving path, from 10 ms to a quarter of
//     Config.Timeout. Only the free run finds lost updates.
//
// One call in sixteen of the free run is a probe: it plays a scenario on a new scratch key, with values and expiries that bad
// code confuses. The same write, or a value like the one that fn was given, comes in between, up to twelve times in a row. fn
// fails, or panics, and the key is updated again. An expiry is set in both ways, kept, and awaited. Goroutines that updates
// left are counted. All updates of the key must form one sequence, and each Result is compared with the last run of fn.
//
// An update of several keys ([rmw.Transact]) is compared like one of a single key. The seeded replay plays it back in one
// Transact of scratch keys, and compares each key. The free run commits to the chains of all keys that were written, in one
// Transact: a commit that is missing in one of them is a lost update. The label and the name of the first key decide on the
// domain of the operation and on the sampling.
//
// The shadow moves no data. Package cutover moves it, and its operate.Verify looks at every key
// of both stores.
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
// queue. It allocates nothing, unless it updates several keys, and never waits, in any state of the other store. When
// the queue is full, by count or by bytes, the Store drops calls and counts them. The hidden
// path has its own workers, time limits, rate limit and circuit breaker; a panic there is
// counted, and [slog.Default] gets the stack of the first one. [Store.Kill] switches everything
// off, for good, without a call of any store.
//
// A process plays one probe at a time, of at most 20 updates; on average it adds less than one update to each commit of the
// free run. Errors and panics of its fn show in the candidate's own metrics. A probe panics only on the goroutine
// that called Update, and catches it there. To find leaks, a
// worker takes a profile of all goroutines after 2, 4, 8 seconds and so on, at most every ten minutes. It costs some
// milliseconds of CPU time for each 1,000 goroutines. There is none in a process that has more than 10,000 at first.
//
// The Store samples whole keys, by a hash of their names, and never single updates, so that
// the free run has the contention of the sampled keys.
//
// Scratch keys are named after the key, in the same slot. "~shadow:seed:{key}:id" and
// "~shadow:pair:{key}:id" live for a minute, or until they are cleared if the update removed the
// expiry. "~shadow:free:{key}" lives for ten minutes. "~shadow:probe:{key}:id" lives for a minute; if the process ends in a
// probe of expiries, for up to half an hour.
//
// # Limits
//
// The bounds of the report hold for calls like those that were seen; the gates show the
// operation with the fewest.
package shadow
