package lockupdate_test

import "sync"

// ledger notes which ids were acknowledged, to be held against what is stored. It
// is safe for concurrent use.
type ledger struct {
	mu  sync.Mutex
	ids []string
}

func (l *ledger) acknowledge(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ids = append(l.ids, id)
}

// audit returns how many ids were acknowledged, and how many of them are not in the
// stored list.
func (l *ledger) audit(stored string) (acked, lost int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range l.ids {
		if !contains(stored, id) {
			lost++
		}
	}
	return len(l.ids), lost
}
