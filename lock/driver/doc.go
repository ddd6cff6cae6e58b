// Package driver makes a [lock.Locker] of a lock service. It is for authors of Lockers.
//
// An author implements the four methods of [Service], each one request to the lock
// service. [New] adds what all Lockers have in common: the wait for a lock, the renewal
// of leases, the ctx of a function under a lock, nested calls, states, events, and the
// release after lost replies.
//
//	type service struct{ db *sql.DB }
//
//	func (s service) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) { ... }
//	func (s service) Renew(ctx context.Context, holds []*driver.Hold) error { ... }
//	func (s service) Release(ctx context.Context, name, owner string) error { ... }
//	func (s service) Inspect(ctx context.Context, name string) (lock.Info, error) { ... }
//
// # Clocks
//
// A lease counts from the moment before the request that took or renewed it was sent, by
// the monotonic clock of this process. It ends a tenth, or [Options.Margin], before it can
// end at the service. The service counts [Config.Expiry] from the moment at which it executes
// the request, by its own clock. So a lock is lost here before it can be granted to another
// process, unless the clock of the service runs a tenth faster or is set forward.
//
// # Lost replies
//
// Each acquisition has an owner, a name that no other one has. Acquire of an owner that
// holds the lock already grants it again, and Release and Renew touch no lock of another
// owner. So every request may be sent again when its reply was lost. If the reply to
// Acquire is lost and the caller gives up, the Locker releases the owner until the service
// has answered or the lease has ended.
package driver
