// Package load has many goroutines update many keys through a small pool of connections, for
// as long as is wanted, and judges what that does to memory, to goroutines, to those who wait,
// and to the values.
//
// # What is played
//
// Four stores, each with a client of its own, as four processes would have; they share the
// pool's connections among them. Three rounds, all alike, so that the last can be held against
// the first. Each has three parts: keys are chosen evenly, then most often the same few (Zipf),
// then all goroutines want one key. Besides, a few goroutines hold locks for longer than a
// lease, which has to be renewed while all the others want the same connections. At the end the
// stores are closed while updates are in flight, whose contexts nobody cancels.
//
// # What is promised, and judged
//
//   - an acknowledged update is stored, exactly once, and no update fails: nobody does harm here,
//   - what lives on the heap, and the number of goroutines, do not grow from the first to the last round,
//   - there are never more connections than the pool has,
//   - nobody waits for longer than a lock takes that has to end by itself,
//   - on the key that all want, no store waits much longer for its turn than usual, each has its share, and so has each goroutine,
//   - no lease is lost,
//   - Close lets those finish whose fn runs, and ends those that wait without having written; after it there is
//     no lock on the servers, no goroutine and no connection.
//
// Each is a [Row], made of a [Measured] by functions that know no server, so that tests can
// show of each that it fails when it should.
package load
