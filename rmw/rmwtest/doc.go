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
// of waiting cost milliseconds, and a goroutine that stays behind fails the test. It begins with 30 random programs.
//
// # Programs
//
// [RunPrograms] searches for faults that no clause names. It draws programs of calls, faults and other writers, with values that
// bad code confuses, runs them on fake time, and judges them by a model. The shortest one that fails is printed as Go, to be
// pasted into a test. Run it for longer than RunFake does:
//
//	func TestPrograms(t *testing.T) {
//		rmwtest.RunPrograms(t, func(t *testing.T) rmwtest.Target { ... }, 5000)
//	}
//
// 5,000 programs take 12 s of CPU over a Memory, two minutes over cas and three over lockupdate with a Redis in the process.
// The seed is 1, so that each run draws the same programs. These flags draw others, and replay the seed of a failure:
//
//	go test -run TestPrograms -rapid.seed=7 -rapid.checks=10000
//
// With goroutines at once, the scheduler may need several runs to repeat a failure.
//
// Each [Clause] carries the sentence it enforces; [Clauses] lists them. A clause
// that needs faults is skipped, by name, for a Target that declares none, and so are
// those of [rmw.Peeker] and [rmw.Transactor] for a Store that is none.
//
// A suite that cannot fail proves nothing, so this package's own tests run it
// over naive stores, each with one well-known mistake, and require the clause
// that names the mistake to fail. 5,000 programs find nearly all of these mistakes, and 51 that no clause names, with
// any of 20 seeds.
package rmwtest
