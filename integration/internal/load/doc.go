// Package load runs many goroutines that update many keys through a small pool of connections, and checks
// memory, goroutines, waiting times and values.
//
// # The load
//
// Four stores, each with its own client, act as four processes and share the pool's connections. Three
// equal rounds make the last comparable with the first. Each has three parts: evenly chosen keys, a Zipf
// distribution, then one key for all goroutines. In addition, a few goroutines hold locks for longer than a
// lease, so that renewals compete with all other commands for connections. At the end the stores are closed
// while updates are in flight with active contexts.
//
// # Promises and checks
//
//   - an acknowledged update is stored exactly once, and no update fails, since there are no faults,
//   - the live heap and the number of goroutines do not grow from the first to the last round,
//   - the pool never has more connections than configured,
//   - no caller waits longer than a lock takes to expire,
//   - on the contended key, no store waits much longer for its turn than usual, and each store and each goroutine gets a fair share,
//   - no lease is lost,
//   - Close waits for running functions, and ends waiting calls without a write; after it no lock is left
//     on the servers, no goroutine and no connection.
//
// Each promise is a [Row]. Pure functions compute it from a [Measured], so that tests can show that each
// row fails when it should.
package load
