// Package locktest proves that a [lock.Locker] keeps what it promises, and gives unit
// tests a Locker that does.
//
// # For a service
//
// [NewMemory] is a complete Locker in memory: quick, without a server, with
// leases on the test's (possibly fake) clock. Its Peer is another process.
//
//	svc := NewBilling(locktest.NewMemory(locktest.MemoryConfig{}))
//
// # For a Locker
//
// [Run] checks every clause, each in a subtest of its own and in real time;
// [RunFake] does so in testing/synctest bubbles, where waiting costs nothing and
// a goroutine left behind fails the test:
//
//	func TestLocker(t *testing.T) {
//		locktest.Run(t, func(t *testing.T) locktest.Target { ... })
//	}
//
// Each [Clause] carries the sentence it enforces; [Clauses] lists them. A clause
// is skipped, by name, if the Target does not declare its needs. No clause
// assumes anything about the clock: where time has to pass, it does.
//
// A suite that cannot fail proves nothing, so this package's own tests run it
// over naive Lockers, each with one well-known mistake, and require the clause
// that names the mistake to fail.
package locktest
