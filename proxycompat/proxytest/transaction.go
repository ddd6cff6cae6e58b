package proxytest

import (
	"strings"

	"github.com/unwatch/unwatch/internal/resp"
	"github.com/unwatch/unwatch/proxycompat"
)

// pinned is the state of a client in a transaction. Proxies that permit transactions keep the client on one
// backend from WATCH, or the first key after MULTI, on.
type pinned struct {
	backend int // Local: none yet
	multi   bool
	queued  [][]string
}

// transactional reports whether a command controls transactions.
func transactional(args []string) bool {
	switch strings.ToUpper(args[0]) {
	case "WATCH", "UNWATCH", "MULTI", "EXEC", "DISCARD":
		return true
	}
	return false
}

// transaction executes the commands of a transaction. Only profiles that permit WATCH or MULTI get here
// with them.
func (s *session) transaction(args []string, rule proxycompat.Rule) (o outcome, done bool) {
	switch name := strings.ToUpper(args[0]); name {
	case "WATCH":
		if rule.Verdict == proxycompat.HarmsOthers { // on a shared connection it has no effect
			return local(resp.AppendStatus(nil, "OK")), true
		}
		if s.pin.backend == Local && s.pin.multi {
			return localError("ERR WATCH inside MULTI is not allowed"), true
		}
		if s.pin.backend == Local && len(args) > 1 {
			o = s.forward(s.p.BackendOf(args[1]), args)
			if s.links[o.backend] != nil { // otherwise nothing is watched, and the client has received an error
				s.pin.backend = o.backend
			}
			return o, true
		}
	case "UNWATCH":
		if s.pin.backend == Local {
			return local(resp.AppendStatus(nil, "OK")), true
		}
		o = s.forward(s.pin.backend, args)
		if !s.pin.multi {
			s.pin.backend = Local
		}
		return o, true
	case "MULTI":
		if s.pin.backend == Local && !s.pin.multi {
			s.pin.multi = true
			return local(resp.AppendStatus(nil, "OK")), true
		}
		s.pin.multi = true
	case "EXEC", "DISCARD":
		at := s.pin
		defer func() { s.pin = pinned{backend: Local} }()
		switch {
		case at.backend != Local:
			return s.forward(at.backend, args), true
		case !at.multi:
			return localError("ERR " + name + " without MULTI"), true
		case name == "EXEC":
			return local(resp.AppendArray(nil, 0)), true
		}
		return local(resp.AppendStatus(nil, "OK")), true
	default:
		if !s.pin.multi {
			return outcome{}, false
		}
		if s.pin.backend == Local {
			s.pin.backend = s.p.BackendOf(s.routed(args, rule))
			if o := s.forward(s.pin.backend, []string{"MULTI"}); o.then != goOn || o.reply.Kind() == "error" {
				return o, true
			}
		}
		s.pin.queued = append(s.pin.queued, args)
	}
	return s.forward(max(s.pin.backend, 0), args), true
}
