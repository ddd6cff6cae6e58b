package lockupdate_test

import "sync"

// ackLog collects acknowledged ids. It is safe for concurrent use.
type ackLog struct {
	mu  sync.Mutex
	ids []string
}

func (l *ackLog) add(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ids = append(l.ids, id)
}

// audit returns the number of acknowledged ids, and of those that are not in the stored list.
func (l *ackLog) audit(stored string) (acked, lost int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range l.ids {
		if !contains(stored, id) {
			lost++
		}
	}
	return len(l.ids), lost
}
