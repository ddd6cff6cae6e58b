// Package locktest tests any [lock.Locker] against its contract, and has a Locker in memory
// for unit tests.
//
// # For a service
//
// [NewMemory] is a complete Locker in memory: quick, without a server, with
// leases on the test's (possibly fake) clock. Its Peer is another process.
//
//	svc := NewBilling(locktest.NewMemory(driver.Config{}))
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
// The [Target] declares what the Lockers promise beyond the minimum: tokens, an order of
// waiters, jeopardy, a lock delay, events. Its [Faults] disturb the lock service and the
// network below the Lockers: lost replies, late requests, crashes, restarts, failovers and
// clocks.
//
// Each [Clause] carries the sentence that it enforces; [Clauses] lists them. A clause
// is skipped, by name, if the Target does not declare its needs. [Target.Row] prints the
// declarations for the table in the documentation of lock services. No clause
// assumes anything about the clock: where time has to pass, it does.
//
// # Programs
//
// [RunPrograms] searches for faults that no clause names. It draws programs of calls and faults, runs them on fake time, and
// judges them by a model. It prints the shortest program that the Lockers run wrong as a Go test, to be pasted below the function
// that opens the Target. RunFake runs 15 programs; run more:
//
//	func TestPrograms(t *testing.T) {
//		locktest.RunPrograms(t, func(t *testing.T) locktest.Target { ... }, 1000)
//	}
//
// 1000 programs take 3 s of CPU over a Memory, and two minutes over a Redis emulator. The seed is 1, so that each run draws the same
// programs. These flags draw others, and replay the seed that a failure prints:
//
//	go test -run TestPrograms -rapid.seed=7 -rapid.checks=10000
//
// # Controls
//
// The tests of this package run the suite over Lockers with one well-known mistake each.
// They require the clauses of the mistake to fail. Each clause has such a control. Other Lockers with a mistake
// pass most clauses; 1,000 programs find nearly all of them, and 5,000 programs find each with any of 20 seeds.
package locktest
