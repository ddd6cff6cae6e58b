package proxytest

import "sync"

// queue holds the commands that were read and not yet executed. It has no
// bound: a client may write a whole pipeline before it reads the first reply,
// and over a net.Pipe it would otherwise wait for us while we wait for it.
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

// take waits for commands and returns all of them. It returns nil when the
// queue is closed and everything was taken.
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
