package proxytest

import "sync"

// queue holds the received commands that were not executed yet. It is unbounded: a client may write a whole
// pipeline before it reads the first reply, and a bounded queue over a net.Pipe would deadlock.
type queue struct {
	mu     sync.Mutex
	ready  sync.Cond
	items  [][]string
	closed bool
}

func newQueue() *queue {
	q := &queue{}
	q.ready.L = &q.mu
	return q
}

// put adds a batch.
func (q *queue) put(batch [][]string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.items = append(q.items, batch...)
	q.ready.Signal()
}

// take waits for commands and returns all of them; nil after the queue is closed and empty.
func (q *queue) take() [][]string {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.items) == 0 && !q.closed {
		q.ready.Wait()
	}
	items := q.items
	q.items = nil
	return items
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.ready.Broadcast()
}
