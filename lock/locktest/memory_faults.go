package locktest

import (
	"context"
	"time"
)

// Cut keeps m from its locks until restore is called. It fits [Faults].
func (m *Memory) Cut() (restore func()) { return m.set(&m.mine.cut, func() {}) }

// LoseReply loses the replies to the requests of m until restore is called. It fits
// [Faults].
func (m *Memory) LoseReply() (restore func()) { return m.set(&m.mine.mute, func() {}) }

// Late holds back the requests of m until deliver is called. It fits [Faults].
func (m *Memory) Late() (deliver func()) {
	return m.set(&m.mine.slow, func() {
		for _, execute := range m.mine.held {
			execute()
		}
		m.mine.held = nil
	})
}

func (s *memoryStore) locked(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

// set begins a fault that ends with the returned function.
func (m *Memory) set(fault *bool, end func()) func() {
	m.store.locked(func() { *fault = true })
	return func() {
		m.store.locked(func() {
			*fault = false
			end()
		})
	}
}

// Stall lets d pass on m's clock, while its timers stand still. It fits [Faults].
func (m *Memory) Stall(d time.Duration) { m.mine.ahead.Add(int64(d)) }

// TakeAway frees a lock behind its holder's back, which learns of it when it next
// renews. It fits [Faults].
func (m *Memory) TakeAway(_ context.Context, name string) error {
	m.store.locked(func() {
		l := m.store.lock(name)
		l.free(l.owner)
	})
	return nil
}

// Reconnect lets the next request of m fail. It fits [Faults].
func (m *Memory) Reconnect() { m.store.locked(func() { m.mine.broken = true }) }

// Expire ends the session of m: it loses its locks and its places among those that wait.
// It fits [Faults].
func (m *Memory) Expire() {
	m.store.mu.Lock()
	for _, l := range m.store.locks {
		owners := []string{}
		if l.owner != "" && l.client == m.mine {
			owners = append(owners, l.owner)
		}
		for _, w := range l.queue {
			if w.client == m.mine {
				owners = append(owners, w.owner)
			}
		}
		for _, owner := range owners {
			m.mine.gone[owner] = true
			l.free(owner)
		}
	}
	m.store.mu.Unlock()
	m.Renew() // the connection tells
}

// Restart breaks all connections. The locks stay. It fits [Faults].
func (m *Memory) Restart() {
	m.store.locked(func() {
		for _, c := range m.store.clients {
			c.broken = true
		}
	})
}

// Failover is Restart with all leases prolonged, as a new leader does. It fits [Faults].
func (m *Memory) Failover() {
	m.Restart()
	m.store.locked(func() {
		for name := range m.store.locks {
			if l := m.store.lock(name); l.owner != "" {
				l.expires = time.Now().Add(l.client.expiry)
			}
		}
	})
}

// Forget loses all locks. It fits [Faults].
func (m *Memory) Forget() {
	m.Restart()
	m.store.locked(func() {
		clear(m.store.locks)
		m.store.token = 0
	})
}

// SetClock sets the wall clock of the locks forward by d. It fits [Faults].
func (m *Memory) SetClock(d time.Duration) { m.store.locked(func() { m.store.wall += d }) }

// Requests counts the requests of all Peers. It fits [Target].
func (m *Memory) Requests() (n int) {
	m.store.locked(func() { n = m.store.requests })
	return n
}
