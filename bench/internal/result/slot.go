package result

import (
	"math"
	"slices"
	"time"

	"github.com/unwatch/unwatch/bench/internal/stats"
	"github.com/unwatch/unwatch/bench/internal/worker"
)

// Of returns the slots of an implementation in a scenario.
func (f *Results) Of(scenario, impl string) []*Slot {
	var slots []*Slot
	for i := range f.Slots {
		if s := &f.Slots[i]; s.Scenario == scenario && s.Impl == impl {
			slots = append(slots, s)
		}
	}
	return slots
}

// sum adds up over all worker processes, including Beside.
func (s *Slot) sum(get func(*worker.UpdateResult) int64) int64 {
	return sum(s.Workers, get) + sum(s.Beside, get)
}

func sum(workers []worker.UpdateResult, get func(*worker.UpdateResult) int64) int64 {
	var n int64
	for i := range workers {
		n += get(&workers[i])
	}
	return n
}

// Done counts the acknowledged updates.
func (s *Slot) Done() int64 { return s.sum(func(w *worker.UpdateResult) int64 { return w.Done }) }

// Failed counts the updates that returned an error.
func (s *Slot) Failed() int64 { return s.sum(func(w *worker.UpdateResult) int64 { return w.Failed }) }

// Hung counts the updates that were cut off.
func (s *Slot) Hung() int64 { return s.sum(func(w *worker.UpdateResult) int64 { return w.Hung }) }

// Err returns one of the errors, if any.
func (s *Slot) Err() string {
	for _, w := range slices.Concat(s.Workers, s.Beside) {
		if w.Err != "" {
			return w.Err
		}
	}
	return ""
}

// Lost counts updates that were acknowledged and are not stored.
func (s *Slot) Lost() int64 { return max(0, s.Done()-s.Stored) }

// Twice counts stored updates in excess of all that were started.
func (s *Slot) Twice() int64 { return max(0, s.Stored-s.Done()-s.Failed()-s.Hung()) }

func inSlot(w *worker.UpdateResult) int64 { return w.InSlot }

// Rate returns the updates per second, without Beside.
func (s *Slot) Rate() float64 { return float64(sum(s.Workers, inSlot)) / s.Length.Seconds() }

// Part returns the share of the updates that are not of Beside, or NaN without Beside.
func (s *Slot) Part() float64 {
	if len(s.Beside) == 0 {
		return math.NaN()
	}
	return stats.Ratio(float64(sum(s.Workers, inSlot)), float64(s.sum(inSlot)))
}

// Share returns the ratio of the worst to the best process, at most 1. It is NaN for one process.
func (s *Slot) Share() float64 {
	if len(s.Workers) < 2 {
		return math.NaN()
	}
	least, most := s.Workers[0].InSlot, s.Workers[0].InSlot
	for _, w := range s.Workers {
		least, most = min(least, w.InSlot), max(most, w.InSlot)
	}
	return stats.Ratio(float64(least), float64(most))
}

// Sealed returns the share of the plain reads that a seal has refused, and for how many milliseconds a decision has sealed the key.
// Without a plain reader both are NaN.
func (s *Slot) Sealed() (share, ms float64) {
	reads := sum(s.Workers, func(w *worker.UpdateResult) int64 { return w.Plain })
	refused := sum(s.Workers, func(w *worker.UpdateResult) int64 { return w.Sealed })
	if reads == 0 {
		return math.NaN(), math.NaN()
	}
	share = float64(refused) / float64(reads)
	return share, stats.Ratio(share*Milli(s.Workers[0].Took), float64(s.Server.Calls["hsetnx"]))
}

// Latency returns the histogram of all processes except Beside.
func (s *Slot) Latency() *stats.Histogram {
	var h stats.Histogram
	for _, w := range s.Workers {
		h.Merge(&w.Latency)
	}
	return &h
}

// Handovers returns the histogram of all processes.
func (s *Slot) Handovers() *stats.Histogram {
	var h stats.Histogram
	for _, w := range s.Workers {
		h.Merge(&w.Handovers)
	}
	return &h
}

// Commands counts the commands that the clients sent.
func (s *Slot) Commands() int64 {
	return s.sum(func(w *worker.UpdateResult) int64 { return w.Commands })
}

// Client returns the resources that all worker processes used.
func (s *Slot) Client() worker.Usage {
	var u worker.Usage
	for _, w := range slices.Concat(s.Workers, s.Beside) {
		u = u.Add(w.Usage)
	}
	return u
}

// Retries counts the repeated attempts of updates; NaN if the peer does not report them.
func (s *Slot) Retries() float64 {
	if slices.ContainsFunc(s.Workers, func(w worker.UpdateResult) bool { return w.Retries < 0 }) {
		return math.NaN()
	}
	return float64(sum(s.Workers, func(w *worker.UpdateResult) int64 { return w.Retries }))
}

// Per divides v by the acknowledged updates.
func (s *Slot) Per(v float64) float64 { return stats.Ratio(v, float64(s.Done())) }

// Total returns the number of calls.
func (s Server) Total() int64 {
	var n int64
	for _, calls := range s.Calls {
		n += calls
	}
	return n
}

// Sub returns the counts since before.
func (s Server) Sub(before Server) Server {
	calls := map[string]int64{}
	for name, n := range s.Calls {
		if n -= before.Calls[name]; n > 0 {
			calls[name] = n
		}
	}
	return Server{calls, s.Reads - before.Reads, s.Bytes - before.Bytes, s.CPU - before.CPU}
}

// Add returns the sum of the counts.
func (s Server) Add(o Server) Server {
	calls := map[string]int64{}
	for name, n := range s.Calls {
		calls[name] += n
	}
	for name, n := range o.Calls {
		calls[name] += n
	}
	return Server{calls, s.Reads + o.Reads, s.Bytes + o.Bytes, s.CPU + o.CPU}
}

// Quiet is the maximal foreign load of a valid slot, in cores.
const Quiet = 0.12

// Micro returns d in microseconds.
func Micro(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// Milli returns d in milliseconds.
func Milli(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
