package proxytest

import (
	"fmt"
	"net"
	"strconv"

	"github.com/unwatch/unwatch/internal/resp"
	"github.com/unwatch/unwatch/proxycompat"
)

// slots answers SLOTSINFO, SLOTSSCAN and SLOTSMAPPING like pkg/proxy/session.go of Codis.
func (s *session) slots(args []string) outcome {
	if is(args, "SLOTSINFO") {
		for backend := range s.p.backends {
			if args[1] == s.p.backendAddr(backend) {
				return s.forward(backend, args[:1])
			}
		}
		return localError(fmt.Sprintf("ERR backend server '%s' not found", args[1]))
	}
	if len(args) == 1 {
		out := resp.AppendArray(nil, proxycompat.Codis32().Slots())
		for slot := range proxycompat.Codis32().Slots() {
			out = s.p.appendSlot(out, slot)
		}
		return local(out)
	}
	slot, err := strconv.ParseInt(args[1], 10, 64)
	switch {
	case err != nil:
		return localError(fmt.Sprintf("ERR parse slotnum '%s' failed, %v", args[1], err))
	case slot < 0 || slot >= int64(proxycompat.Codis32().Slots()):
		return localError(fmt.Sprintf("ERR parse slotnum '%s' failed, out of range", args[1]))
	case is(args, "SLOTSMAPPING"):
		return local(s.p.appendSlot(nil, int(slot)))
	case len(s.p.engines) > 0:
		return s.scanSlot(int(slot), args[2])
	}
	return s.forward(s.p.ownerOf(int(slot)), args)
}

// appendSlot appends the number of a slot, its server, the source of its migration, and its replicas.
func (p *Proxy) appendSlot(out []byte, slot int) []byte {
	out = resp.AppendArray(out, 4)
	out = resp.AppendBulk(out, strconv.Itoa(slot))
	out = resp.AppendBulk(out, p.backendAddr(p.ownerOf(slot)))
	out = resp.AppendBulk(out, "")
	return append(out, "*-1\r\n"...)
}

// scanSlot answers SLOTSSCAN for an in-process server, which lacks the command, in a single step.
func (s *session) scanSlot(slot int, cursor string) outcome {
	backend := s.p.ownerOf(slot)
	if _, err := strconv.ParseUint(cursor, 10, 64); err != nil {
		return localError("ERR invalid cursor").on(backend)
	}
	l, err := s.link(backend)
	if err != nil {
		return localError(s.p.backendError(err)).on(backend)
	}
	keys, err := l.keys()
	if err != nil {
		return localError(s.p.backendError(err)).on(backend)
	}
	var found []byte
	n := 0
	for _, key := range keys {
		if proxycompat.Codis32().Slot(key) == slot {
			found = resp.AppendBulk(found, key)
			n++
		}
	}
	out := resp.AppendBulk(resp.AppendArray(nil, 2), "0")
	return outcome{reply: append(resp.AppendArray(out, n), found...), backend: backend}
}

// backendAddr returns the displayed address of a server; an in-process one has no real address.
func (p *Proxy) backendAddr(backend int) string {
	if backend < len(p.cfg.Backends) {
		return p.cfg.Backends[backend]
	}
	return net.JoinHostPort("192.0.2.2", strconv.Itoa(6379+backend))
}
