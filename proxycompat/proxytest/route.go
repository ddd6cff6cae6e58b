package proxytest

import (
	"hash/fnv"
	"io"

	"github.com/unwatch/unwatch/proxycompat"
)

// BackendOf returns the index of the backend that owns a key. Backends have contiguous ranges of slots,
// except slots moved by [Proxy.MoveSlot]. Proxies without slots hash the key, or its configured tag, over
// the backends that are not ejected.
func (p *Proxy) BackendOf(key string) int {
	if slot := p.profile.Slot(key); slot >= 0 {
		return p.ownerOf(slot)
	}
	h := fnv.New64a()
	_, _ = io.WriteString(h, p.profile.Tag(key))
	if !p.cfg.AutoEject {
		return int(h.Sum64() % uint64(len(p.backends)))
	}
	var alive []int
	for i, b := range p.backends {
		if b.present() {
			alive = append(alive, i)
		}
	}
	if len(alive) == 0 {
		return 0
	}
	return alive[h.Sum64()%uint64(len(alive))]
}

// Slot returns the slot of a key that [Proxy.MoveSlot] can move; false if there are no slots.
func (p *Proxy) Slot(key string) (int, bool) {
	slot := p.profile.Slot(key)
	return slot, slot >= 0 && !p.transparent()
}

func (p *Proxy) ownerOf(slot int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if owner, moved := p.owners[slot]; moved {
		return owner
	}
	return slot * len(p.backends) / p.profile.Slots()
}

// forwardBy executes a command on the backend of its routing word.
func (s *session) forwardBy(word string, args []string) outcome {
	for {
		o, busy := s.attempt(word, args)
		if busy == nil {
			return o
		}
		select {
		case <-busy:
		case <-s.p.ctx.Done():
			return localError(s.p.backendError(errDown))
		}
	}
}

// attempt is forwardBy, unless the key is in transfer: then it returns a channel to wait for. No migration
// starts or ends meanwhile, since Codis waits for commands in flight.
func (s *session) attempt(word string, args []string) (o outcome, busy <-chan struct{}) {
	s.p.routing.RLock()
	defer s.p.routing.RUnlock()
	if m := s.p.moving(word); m != nil {
		return m.execute(s, word, args)
	}
	return s.master(s.p.BackendOf(word), args), nil
}

// master executes a command on a backend, or a read-only one on its replica.
func (s *session) master(backend int, args []string) outcome {
	if r := s.p.backends[backend].replica; r != nil && !s.calm && s.replicated(args) {
		return r.execute(s, backend, args)
	}
	return s.forward(backend, args)
}

// replicated reports whether the proxy sends a command to replicas: Codis by its table, the others all
// read-only commands.
func (s *session) replicated(args []string) bool {
	if s.p.codis() {
		return s.p.profile.RuleFor(args...).Replica()
	}
	return readsOnly(args)
}

func readsOnly(args []string) bool {
	c, ok := proxycompat.CommandOf(args...)
	return ok && c.ReadOnly()
}
