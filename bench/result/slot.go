package result

import (
	"math"
	"slices"
	"time"

	"github.com/unwatch/unwatch/bench/stats"
	"github.com/unwatch/unwatch/bench/worker"
)

// Of returns the slots of an implementation in a scenario.
func (f *File) Of(scenario, impl string) []*Slot {
	var slots []*Slot
	for i := range f.Slots {
		if s := &f.Slots[i]; s.Scenario == scenario && s.Impl == impl {
			slots = append(slots, s)
		}
	}
	return slots
}

// sum adds up over all worker processes, those beside included.
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

// Done is the updates that were acknowledged.
func (s *Slot) Done() int64 { return s.sum(func(w *worker.UpdateResult) int64 { return w.Done }) }

// Failed is the updates that returned an error.
func (s *Slot) Failed() int64 { return s.sum(func(w *worker.UpdateResult) int64 { return w.Failed }) }

// Hung is the updates that had to be cut off.
func (s *Slot) Hung() int64 { return s.sum(func(w *worker.UpdateResult) int64 { return w.Hung }) }

// Err is one of the errors, if there were any.
func (s *Slot) Err() string {
	for _, w := range slices.Concat(s.Workers, s.Beside) {
		if w.Err != "" {
			return w.Err
		}
	}
	return ""
}

// Lost is the updates that were acknowledged and are not stored.
func (s *Slot) Lost() int64 { return max(0, s.Done()-s.Stored) }

// Twice is the updates that are stored and that nobody can have made.
func (s *Slot) Twice() int64 { return max(0, s.Stored-s.Done()-s.Failed()-s.Hung()) }

func inSlot(w *worker.UpdateResult) int64 { return w.InSlot }

// Rate is the updates a second, without those of the processes beside.
func (s *Slot) Rate() float64 { return float64(sum(s.Workers, inSlot)) / s.Length.Seconds() }

// Part is the share of the updates that were not made by the processes beside; NaN if there
// are none.
func (s *Slot) Part() float64 {
	if len(s.Beside) == 0 {
		return math.NaN()
	}
	return stats.Ratio(float64(sum(s.Workers, inSlot)), float64(s.sum(inSlot)))
}

// Share is how the worst process did compared to the best, 1 at best; NaN if it is alone.
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

// Latency is the histogram over all processes but those beside.
func (s *Slot) Latency() *stats.Histogram {
	var h stats.Histogram
	for _, w := range s.Workers {
		h.Merge(w.Latency.Dense())
	}
	return &h
}

// Commands is how many commands the clients sent.
func (s *Slot) Commands() int64 {
	return s.sum(func(w *worker.UpdateResult) int64 { return w.Commands })
}

// Client is what all worker processes used.
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

// Per is v for each update that was acknowledged.
func (s *Slot) Per(v float64) float64 { return stats.Ratio(v, float64(s.Done())) }

// Total is the number of calls of all commands.
func (s Server) Total() int64 {
	var n int64
	for _, calls := range s.Calls {
		n += calls
	}
	return n
}

// Sub returns what was counted since before.
func (s Server) Sub(before Server) Server {
	calls := map[string]int64{}
	for name, n := range s.Calls {
		if n -= before.Calls[name]; n > 0 {
			calls[name] = n
		}
	}
	return Server{calls, s.Reads - before.Reads, s.Bytes - before.Bytes, s.CPU - before.CPU}
}

// Add returns what two servers have counted.
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

// Quiet is how much foreign load a slot may have had, in cores, to be believed.
const Quiet = 0.12

// Micro is d in microseconds.
func Micro(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// Milli is d in milliseconds.
func Milli(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
