// Package timewheel holds many timers at a constant price: scheduling and
// cancelling one is O(1) and allocates nothing, whatever the number of others.
// It is the hierarchical wheel of Varghese and Lauck (scheme 7).
//
// A [Wheel] has no goroutine, no clock and no lock. Whoever owns it serialises
// the calls, tells it the time with [Wheel.Advance] and sleeps until
// [Wheel.Next]; under testing/synctest, and in a test without any clock at all,
// it is therefore exact. Times are durations since an epoch of the owner's
// choice, on a clock that starts at 0.
//
// # Rounding
//
// Time is divided into ticks; tick n is the moment n×tick. A timer for the time
// when belongs to the first tick that is not before it: ⌈when/tick⌉. It fires
// in the first Advance that reaches this tick:
//
//	now ≥ ⌈when/tick⌉ × tick
//
// So it never fires before when, and an owner that sleeps until Next is late by
// less than one tick. A time that is a multiple of the tick is met exactly.
//
// A time that is not after the latest now is past, and nothing is rounded: the
// timer fires in the next Advance, whatever now that one is given. Within an
// Advance the past is what its own now says, so that what fire schedules never
// fires in the same Advance; a periodic timer that was asleep for a year
// catches up as slowly as its owner likes.
//
// A time whose tick a [time.Duration] cannot hold, such as [math.MaxInt64],
// never comes.
//
// # Order
//
// An Advance fires the timers that were past when they were scheduled, then
// the others by their tick. Those of one tick fire in the order in which they
// were scheduled.
//
// # Cost
//
// Six levels of 64 slots span 2³⁶ ticks, which is 21 years if a tick is 10 ms.
// What lies beyond the current span waits in a list that is walked when the
// wheel enters a span in which one of its timers could be. A timer
// moves at most once per level on its way down, and an empty stretch costs
// nothing, however long. A wheel takes about 3 KB, a timer 24 bytes and its
// Value.
package timewheel
