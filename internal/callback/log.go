package callback

import "sync"

// Log has the events that were not yet told. A mutex of its owner guards it.
type Log[E any] struct {
	events, spare []E
	telling       bool
}

// maxSpare bounds the memory that is kept after a burst of events.
const maxSpare = 64

// Add adds an event, with the mutex held.
func (l *Log[E]) Add(e E) { l.events = append(l.events, e) }

// Unlock tells all events, and unlocks the mutex. One goroutine at a time tells them, without the mutex,
// so that their order is kept.
func (l *Log[E]) Unlock(mu *sync.Mutex, tell func(E)) {
	defer mu.Unlock()
	if l.telling {
		return
	}
	l.telling = true
	for len(l.events) > 0 {
		events := l.events
		l.events, l.spare = l.spare, nil
		mu.Unlock()
		for _, e := range events {
			tell(e)
		}
		clear(events)
		mu.Lock()
		if cap(events) <= maxSpare {
			l.spare = events[:0]
		}
	}
	l.telling = false
}
