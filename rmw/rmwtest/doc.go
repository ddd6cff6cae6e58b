// Package rmwtest proves that an [rmw.Store] keeps the contract, and gives unit
// tests a Store that does.
//
// # For a service
//
// [NewMemory] is a complete Store in memory: quick, without a server, with
// expiry on the test's (possibly fake) clock.
//
//	svc := NewRooms(rmwtest.NewMemory())
//
// # For a Store
//
// [Run] checks every clause of the contract, each in a subtest of its own:
//
//	func TestContract(t *testing.T) {
//		rmwtest.Run(t, func(t *testing.T) rmwtest.Target { ... })
//	}
//
// [RunFake] is the same on fake time, for a Target that is all in the test's process: hours
// of waiting cost milliseconds, and a goroutine that stays behind fails the test.
//
// Each [Clause] carries the sentence it enforces; [Clauses] lists them. A clause
// that needs faults is skipped, by name, for a Target that declares none, and so are
// those of [rmw.Peeker] and [rmw.Transactor] for a Store that is none.
//
// A suite that cannot fail proves nothing, so this package's own tests run it
// over naive stores, each with one well-known mistake, and require the clause
// that names the mistake to fail.
package rmwtest
