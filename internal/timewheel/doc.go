// Package timewheel holds many timers at a constant cost: scheduling and
// cancelling a timer is O(1) and allocates nothing.
// It is the hierarchical wheel of Varghese and Lauck (scheme 7).
//
// A [Wheel] has no goroutine, no clock and no lock. Its owner serializes
// the calls, sets the time with [Wheel.Advance] and sleeps until
// [Wheel.Next]. It is therefore exact under testing/synctest, and in a test
// without a clock. Times are durations since an epoch of the owner's
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
// A time that is not after the latest now is past and not rounded: the
// timer fires in the next Advance, for any now. Within an
// Advance the past ends at its own now, so that a timer scheduled by fire never
// fires in the same Advance. A periodic timer that is a year late
// fires once per Advance.
//
// A timer never fires if a [time.Duration] cannot hold its tick, as for
// [math.MaxInt64].
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
// Timers beyond the current span wait in a list that is walked when the
// wheel enters a span in which one of them could be. A timer
// moves at most once per level, and an empty stretch of any length costs
// nothing. A wheel takes about 3 KB, a timer 24 bytes and its
// Value.
package timewheel
