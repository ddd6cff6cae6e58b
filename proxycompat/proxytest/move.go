package proxytest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/unwatch/unwatch/proxycompat"
)

// Method is a way of slot migration in Codis.
type Method uint8

const (
	// Sync moves the key of a command, and all keys that have its hash tag, before it executes the command
	// on the new backend (SLOTSMGRTTAGONE).
	Sync Method = iota
	// SemiAsync, the default of Codis' dashboard, executes a command on the old backend as long as its key
	// is there, and then on the new one. A command that changes a key in transfer waits
	// (SLOTSMGRT-EXEC-WRAPPER). Only the routing key of the command is considered.
	SemiAsync
)

// Move is a slot migration. Its methods are safe for concurrent use.
type Move struct {
	p        *Proxy
	slot     int
	from, to int
	method   Method

	mu       sync.Mutex    // held while a command or a key of the slot is in flight
	busy     entry         // the key in semi-asynchronous transfer
	done     chan struct{} // closed at the end of the transfer; nil: no transfer
	finished bool
}

// MoveSlot starts the migration of a slot to a backend. Until [Move.Finish], commands and [Move.Step] move
// keys, in all databases. The profile must have slots.
func (p *Proxy) MoveSlot(slot, to int, method Method) (*Move, error) {
	if slot < 0 || slot >= p.profile.Slots() || to < 0 || to >= len(p.backends) {
		return nil, fmt.Errorf("proxytest: no slot %d of %s, or no backend %d", slot, p.profile.Name(), to)
	}
	p.routing.Lock()
	defer p.routing.Unlock()
	m := &Move{p: p, slot: slot, from: p.ownerOf(slot), to: to, method: method}
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.from == to {
		return nil, fmt.Errorf("proxytest: slot %d is on backend %d already", slot, to)
	}
	if p.moves[slot] != nil {
		return nil, fmt.Errorf("proxytest: slot %d is being moved already", slot)
	}
	p.moves[slot] = m
	return m, nil
}

// moving returns the migration of the key's slot, or nil.
func (p *Proxy) moving(key string) *Move {
	slot := p.profile.Slot(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.moves[slot]
}

// Step moves one key, and reports whether there was one left. A semi-asynchronous transfer lasts took. Only
// one key moves at a time, and none after [Move.Finish].
func (m *Move) Step(took time.Duration) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.done != nil {
		done := m.done
		m.mu.Unlock()
		<-done
		m.mu.Lock()
	}
	if m.finished {
		return false, nil
	}
	entries, err := m.left()
	if err != nil || len(entries) == 0 {
		return false, err
	}
	if m.method == SemiAsync && took > 0 {
		done := make(chan struct{})
		m.busy, m.done = entries[0], done
		m.mu.Unlock()
		m.p.wait(took)
		m.mu.Lock()
		m.done = nil
		close(done)
	}
	return true, m.carry(entries[0])
}

// Finish moves the remaining keys and gives the slot to the new backend. It waits for commands and
// transfers in flight. A second Finish does nothing.
func (m *Move) Finish() error {
	m.lockAll()
	defer m.p.routing.Unlock()
	defer m.mu.Unlock()
	if m.finished {
		return nil
	}
	entries, err := m.left()
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := m.carry(e); err != nil {
			return err
		}
	}
	m.finished = true
	m.p.mu.Lock()
	defer m.p.mu.Unlock()
	delete(m.p.moves, m.slot)
	m.p.owners[m.slot] = m.to
	return nil
}

// lockAll blocks all commands on slots while no key is in transfer. It holds no lock while it waits for a
// transfer, since that takes time.
func (m *Move) lockAll() {
	for {
		m.p.routing.Lock()
		m.mu.Lock()
		done := m.done
		if done == nil {
			return
		}
		m.mu.Unlock()
		m.p.routing.Unlock()
		<-done
	}
}

// execute executes a command on a key of the slot, or returns a channel to wait for first.
func (m *Move) execute(s *session, key string, args []string) (o outcome, busy <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := entry{s.database, key}
	if m.done != nil && m.busy == e && !readsOnly(args) {
		return outcome{}, m.done
	}
	if m.method == Sync {
		if err := m.carryTagged(e); err != nil {
			return localError("ERR handle request, bad slotsmgrt resp: " + err.Error()), nil
		}
		return s.forward(m.to, args), nil
	}
	old, err := m.on(m.from, e.database)
	if err != nil {
		return localError(m.p.backendError(err)), nil
	}
	defer old.close()
	if reply, err := old.do([]string{"TYPE", key}); err == nil {
		if kind, _ := reply.Text(); kind == "none" {
			return s.forward(m.to, args), nil
		}
	}
	return s.forward(m.from, args), nil
}

// carryTagged moves a key, and all keys of its database with the same hash tag.
func (m *Move) carryTagged(e entry) error {
	entries := []entry{e}
	if tag := proxycompat.Codis32().Tag(e.key); tag != e.key {
		left, err := m.left()
		if err != nil {
			return err
		}
		for _, other := range left {
			if other != e && other.database == e.database && other.key != tag && proxycompat.Codis32().Tag(other.key) == tag {
				entries = append(entries, other)
			}
		}
	}
	for _, e := range entries {
		if err := m.carry(e); err != nil {
			return err
		}
	}
	return nil
}

// carry moves a key if it still exists, replacing any value in the new backend.
func (m *Move) carry(e entry) error {
	old, err := m.on(m.from, e.database)
	if err != nil {
		return err
	}
	defer old.close()
	dumps, err := dumpOf(old, e.key)
	if err != nil || dumps[0].set == nil {
		return err
	}
	target, err := m.on(m.to, e.database)
	if err != nil {
		return err
	}
	defer target.close()
	gone := []string{"DEL", e.key}
	err = m.p.backends[m.to].change(e.database, [][]string{gone}, func() error { return restore(target, false, dumps...) })
	if err != nil {
		return err
	}
	return m.p.backends[m.from].change(e.database, [][]string{gone}, func() error {
		_, err := old.do(gone)
		return err
	})
}

// left lists the unmoved keys of the slot, in all databases.
func (m *Move) left() ([]entry, error) {
	old, err := m.on(m.from, "")
	if err != nil {
		return nil, err
	}
	defer old.close()
	var entries []entry
	err = old.everyDatabase(func(database string) error {
		keys, err := old.keys()
		slices.Sort(keys)
		for _, key := range keys {
			if m.p.profile.Slot(key) == m.slot {
				entries = append(entries, entry{database, key})
			}
		}
		return err
	})
	return entries, err
}

func (m *Move) on(backend int, database string) (*link, error) {
	return m.p.backends[backend].connect(context.WithoutCancel(m.p.ctx), database)
}
