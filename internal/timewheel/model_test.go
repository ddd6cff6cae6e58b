package timewheel_test

import (
	"cmp"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/timewheel"
)

// model implements the promises of a wheel as a sorted list.
type model struct {
	tick, now time.Duration
	seq       int
	entries   []entry
}

type entry struct {
	id   int
	past bool
	tick uint64
	seq  int
}

func (m *model) schedule(id int, when time.Duration) {
	m.cancel(id)
	m.seq++
	e := entry{id: id, past: when <= m.now, seq: m.seq}
	if !e.past {
		e.tick = uint64(when / m.tick)
		if when%m.tick != 0 {
			e.tick++
		}
	}
	m.entries = append(m.entries, e)
}

func (m *model) cancel(id int) bool {
	n := len(m.entries)
	m.entries = slices.DeleteFunc(m.entries, func(e entry) bool { return e.id == id })
	return len(m.entries) < n
}

// first returns the next timer to fire, if it was scheduled before seq.
func (m *model) first(seq int) (entry, bool) {
	var old []entry
	for _, e := range m.entries {
		if e.seq <= seq {
			old = append(old, e)
		}
	}
	if len(old) == 0 {
		return entry{}, false
	}
	return slices.MinFunc(old, func(a, b entry) int {
		if a.past != b.past {
			if a.past {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.tick, b.tick), cmp.Compare(a.seq, b.seq))
	}), true
}

// due returns the next timer to fire in an Advance that began after seq.
func (m *model) due(seq int) (id int, ok bool) {
	e, ok := m.first(seq)
	return e.id, ok && (e.past || e.tick <= uint64(m.now/m.tick))
}

// next returns the time of the next timer: now, within a callback, if another is due.
func (m *model) next() (time.Duration, bool) {
	e, ok := m.first(math.MaxInt)
	switch {
	case !ok || e.tick > uint64(math.MaxInt64/m.tick):
		return 0, false
	case e.past:
		return m.now, true
	default:
		return max(m.now, time.Duration(e.tick)*m.tick), true
	}
}

// script applies the operations in its bytes to a wheel and to the model.
type script struct {
	t      *testing.T
	data   []byte
	wheel  *timewheel.Wheel[int]
	model  model
	timers [24]timewheel.Timer[int]
	whens  [24]time.Duration
	fired  int
}

func run(t *testing.T, data []byte) *script {
	s := &script{t: t, data: data}
	ticks := []time.Duration{1, 7, time.Microsecond, time.Millisecond, 10 * time.Millisecond, time.Hour, math.MaxInt64/2 - 3}
	tick := ticks[s.intn(len(ticks))]
	s.wheel = timewheel.New[int](tick)
	s.model.tick = tick
	for i := range s.timers {
		s.timers[i].Value = i
	}
	for len(s.data) > 0 {
		if s.intn(3) > 0 {
			s.edit()
		} else {
			s.advance(s.moment())
		}
		s.check()
	}
	s.drain()
	return s
}

func (s *script) intn(n int) int {
	if len(s.data) == 0 {
		return 0
	}
	b := s.data[0]
	s.data = s.data[1:]
	return int(b) % n
}

// moment returns now plus or minus a duration of any order of magnitude.
func (s *script) moment() time.Duration {
	var d uint64
	for range 3 {
		d = d<<8 | uint64(s.intn(256))
	}
	switch kind := s.intn(16); kind {
	case 0: // the past
		return s.model.now - time.Duration(d)
	case 1: // the end of time
		return math.MaxInt64 - time.Duration(d%64)
	case 2: // the result of Next
		at, _ := s.wheel.Next()
		return at
	case 3, 4, 5, 6, 7, 8: // a few ticks ahead
		d = d % 200 * uint64(s.model.tick) / 3
	default:
		d = d << s.intn(40) >> s.intn(24)
	}
	if d > uint64(math.MaxInt64-s.model.now) {
		return s.model.now
	}
	return s.model.now + time.Duration(d)
}

// edit schedules or cancels one timer.
func (s *script) edit() {
	i := s.intn(len(s.timers))
	if s.intn(4) == 0 {
		want := s.model.cancel(i)
		require.Equal(s.t, want, s.timers[i].Scheduled())
		require.Equal(s.t, want, s.wheel.Cancel(&s.timers[i]))
		return
	}
	when := s.moment()
	s.whens[i] = when
	s.model.schedule(i, when)
	s.wheel.Schedule(&s.timers[i], when)
}

func (s *script) advance(now time.Duration) {
	s.model.now = max(s.model.now, now)
	began := s.model.seq
	s.wheel.Advance(now, func(timer *timewheel.Timer[int]) {
		id, ok := s.model.due(began)
		require.True(s.t, ok, "timer %d at %d fires, but nothing is due at %d", timer.Value, s.whens[timer.Value], now)
		require.Equal(s.t, id, timer.Value, "the order")
		require.GreaterOrEqual(s.t, s.model.now, s.whens[timer.Value], "early")
		s.model.cancel(id)
		s.fired++
		s.check()
		for range s.intn(3) {
			s.edit()
			s.check()
		}
	})
	id, ok := s.model.due(began)
	require.False(s.t, ok, "timer %d is due at %d, but did not fire", id, s.model.now)
}

func (s *script) check() {
	require.Equal(s.t, len(s.model.entries), s.wheel.Len())
	at, ok := s.wheel.Next()
	want, exists := s.model.next()
	if exists {
		require.True(s.t, ok, "Next overlooks what fires at %d", want)
		require.LessOrEqual(s.t, at, want, "Next oversleeps")
	}
	if len(s.model.entries) == 0 {
		require.False(s.t, ok, "Next wakes an empty wheel")
	}
	if ok && (!exists || want > s.model.now) {
		require.Greater(s.t, at, s.model.now, "Next spins")
	}
}

// drain sleeps until Next for as long as there is one.
func (s *script) drain() {
	limit := 7 * s.model.seq
	wakeups := 0
	for at, ok := s.wheel.Next(); ok; at, ok = s.wheel.Next() {
		wakeups++
		require.LessOrEqual(s.t, wakeups, limit, "too many wake-ups")
		want, exists := s.model.next()
		fired := s.fired
		s.advance(at)
		require.Equal(s.t, exists && want == at, s.fired > fired, "punctual to the tick")
		s.check()
	}
	_, exists := s.model.next()
	require.False(s.t, exists, "a timer was never reached")
}
