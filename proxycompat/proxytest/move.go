package proxytest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/unwatch/unwatch/proxycompat"
)

// Method is how Codis moves a slot.
type Method uint8

const (
	// Sync moves the key of a command, and all keys that have its hash tag, before it
	// executes the command on the new backend (SLOTSMGRTTAGONE).
	Sync Method = iota
	// SemiAsync, the default of Codis' dashboard, executes a command on the old backend
	// as long as its key is there, and else on the new one; one that changes a key which
	// is just being moved waits (SLOTSMGRT-EXEC-WRAPPER). Only the key that the command
	// is routed by is looked at.
	SemiAsync
)

// Move is a slot on its way from one backend to another. Its methods are safe for
// concurrent use.
type Move struct {
	p        *Proxy
	slot     int
	from, to int
	method   Method

	mu   sync.Mutex // held while a command or a key of the slot is under way
	busy string     // the key that is being moved semi-asynchronously
	done chan struct{}
}

// MoveSlot begins to move a slot to a backend. Until [Move.Finish], keys move as
// commands meet them, and by [Move.Step]. The profile must have slots, and database 0
// alone is moved.
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

// moving returns the move of the slot of a key, if it is being moved.
func (p *Proxy) moving(key string) *Move {
	slot := p.profile.Slot(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.moves[slot]
}

// Step moves one key, which semi-asynchronously takes some time, and reports whether
// there was one left.
func (m *Move) Step(took time.Duration) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	keys, err := m.left()
	if err != nil || len(keys) == 0 {
		return false, err
	}
	if m.method == SemiAsync && took > 0 {
		m.busy, m.done = keys[0], make(chan struct{})
		m.mu.Unlock()
		m.p.wait(took)
		m.mu.Lock()
		m.busy = ""
		close(m.done)
	}
	return true, m.carry(keys[0])
}

// Finish moves what is left, and the slot is the new backend's.
func (m *Move) Finish() error {
	m.p.routing.Lock()
	defer m.p.routing.Unlock()
	for more := true; more; {
		var err error
		if more, err = m.Step(0); err != nil {
			return err
		}
	}
	m.p.mu.Lock()
	defer m.p.mu.Unlock()
	delete(m.p.moves, m.slot)
	m.p.owners[m.slot] = m.to
	return nil
}

// execute executes a command whose key is in the slot, or returns what to wait for
// before.
func (m *Move) execute(s *session, key string, args []string) (o outcome, busy <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.busy == key && !readsOnly(args) {
		return outcome{}, m.done
	}
	if m.method == Sync {
		if err := m.carryTagged(key); err != nil {
			return localError("ERR handle request, bad slotsmgrt resp: " + err.Error()), nil
		}
		return s.forward(m.to, args), nil
	}
	old, err := m.on(m.from)
	if err != nil {
		return localError(m.p.backendError(err)), nil
	}
	defer old.close()
	if kind, err := old.text("TYPE", key); err == nil && kind == "none" {
		return s.forward(m.to, args), nil
	}
	return s.forward(m.from, args), nil
}

// carryTagged moves a key, and all keys of its hash tag if it has one.
func (m *Move) carryTagged(key string) error {
	keys := []string{key}
	if proxycompat.CodisTag(key) != key {
		left, err := m.left()
		if err != nil {
			return err
		}
		for _, other := range left {
			if other != key && proxycompat.CodisTag(other) != other && proxycompat.CodisTag(other) == proxycompat.CodisTag(key) {
				keys = append(keys, other)
			}
		}
	}
	for _, key := range keys {
		if err := m.carry(key); err != nil {
			return err
		}
	}
	return nil
}

// carry moves a key if it is still there, over whatever the new backend has.
func (m *Move) carry(key string) error {
	old, err := m.on(m.from)
	if err != nil {
		return err
	}
	defer old.close()
	d, err := dumpOf(old, key)
	if err != nil || len(d) == 1 {
		return err
	}
	target, err := m.on(m.to)
	if err != nil {
		return err
	}
	defer target.close()
	if err := d.restore(target); err != nil {
		return err
	}
	_, err = old.do([]string{"DEL", key})
	return err
}

// left lists the keys of the slot that have not been moved.
func (m *Move) left() ([]string, error) {
	old, err := m.on(m.from)
	if err != nil {
		return nil, err
	}
	defer old.close()
	keys, err := old.list(nil, "KEYS", "*")
	keys = slices.DeleteFunc(keys, func(key string) bool { return m.p.profile.Slot(key) != m.slot })
	slices.Sort(keys)
	return keys, err
}

func (m *Move) on(backend int) (*link, error) {
	return m.p.backends[backend].connect(context.WithoutCancel(m.p.ctx), "")
}
