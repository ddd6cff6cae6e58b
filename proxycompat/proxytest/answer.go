package proxytest

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/unwatch/unwatch/internal/resp"
	"github.com/unwatch/unwatch/proxycompat"
)

// answer returns replies that the proxy makes itself.
func (s *session) answer(args []string, rule proxycompat.Rule) (o outcome, done bool) {
	codis := s.p.codis()
	switch {
	case is(args, "QUIT"):
		if !s.p.closes() {
			o = local(resp.AppendStatus(nil, "OK"))
		}
		o.backend, o.then = Local, closeAfter
		return o, true
	case is(args, "AUTH"):
		return s.auth(args), true
	case !s.authed:
		return localError("NOAUTH Authentication required"), true
	case codis && (is(args, "PING") || is(args, "INFO")) && len(args) > 1:
		return localError(fmt.Sprintf("ERR backend server '%s' not found", args[1])), true
	case is(args, "SELECT") && rule.Local():
		return s.selectDatabase(args), true
	case is(args, "HELLO") && codis && s.p.profile.Backend() == (proxycompat.Version{}):
		// codis-server 3.2 repeats the name as it was sent.
		return localError(fmt.Sprintf("ERR unknown command '%s'", args[0])), true
	case codis && !rule.ArgsFit(args):
		return s.wrongArgs(args), true
	case codis && len(args[0]) > 5 && strings.EqualFold(args[0][:5], "SLOTS") && rule.Local():
		return s.slots(args), true
	case rule.Local() && rule.Verdict != proxycompat.HarmsOthers && !transactional(args):
		return s.ownAnswer(args), true
	}
	return outcome{}, false
}

// ownAnswer returns the replies of commands that do not reach a server.
func (s *session) ownAnswer(args []string) outcome {
	switch strings.ToUpper(args[0]) {
	case "PING", "ECHO":
		if len(args) > 1 {
			return local(resp.AppendBulk(nil, args[1]))
		}
		return local(resp.AppendStatus(nil, "PONG"))
	case "HELLO": // RESP2, also if RESP3 was asked for
		out := resp.AppendArray(nil, 4)
		out = resp.AppendBulk(out, "server")
		out = resp.AppendBulk(out, "redis")
		out = resp.AppendBulk(out, "proto")
		return local(resp.AppendInt(out, 2))
	case "COMMAND", "TIME", "INFO", "SCAN", "KEYS":
		return local(resp.AppendArray(nil, 0))
	}
	return local(resp.AppendStatus(nil, "OK"))
}

func (s *session) auth(args []string) outcome {
	switch {
	case len(args) != 2:
		return localError("ERR wrong number of arguments for 'AUTH' command")
	case s.p.cfg.Password == "":
		return localError("ERR Client sent AUTH, but no password is set")
	case s.p.cfg.Password != args[1]:
		s.authed = false
		return localError("ERR invalid password")
	}
	s.authed = true
	return local(resp.AppendStatus(nil, "OK"))
}

func (s *session) selectDatabase(args []string) outcome {
	if len(args) != 2 {
		return localError("ERR wrong number of arguments for 'SELECT' command")
	}
	n, err := strconv.Atoi(args[1])
	switch {
	case err != nil:
		return localError("ERR invalid DB index")
	case n < 0 || n >= databases:
		return localError(fmt.Sprintf("ERR invalid DB index, only accept DB [0,%d)", databases))
	}
	if db := strconv.Itoa(n); db != s.database {
		if s.pin.multi || s.pin.backend != Local { // watched and queued state would be lost
			return outcome{reply: resp.AppendError(nil, "ERR SELECT in a transaction"), backend: Local, then: closeAfter}
		}
		s.database = db
		for _, l := range s.links { // the proxy has separate connections per database
			l.close()
		}
		clear(s.links)
	}
	return local(resp.AppendStatus(nil, "OK"))
}

// harmful reports whether a command changes the state of its connection.
func harmful(args []string) bool {
	switch name := strings.ToUpper(args[0]); name {
	case "HELLO":
		return len(args) > 1 && args[1] == "3"
	case "RESET", "MONITOR", "POST", "HOST:", "SLOTSRESTORE-ASYNC-ACK", "SLOTSRESTORE-ASYNC-AUTH":
		return true
	default:
		return strings.HasSuffix(name, "SUBSCRIBE")
	}
}

// harm breaks all connections to a backend, as proxies with shared connections do: a command in flight gets
// no reply.
func (s *session) harm(args []string, rule proxycompat.Rule) outcome {
	backend := s.p.BackendOf(s.routed(args, rule))
	s.p.backends[backend].cut()
	if is(args, "HELLO") {
		return localError("ERR handle response, backend conn failure, bad resp type <unknown-0x25>").on(backend)
	}
	return localError(s.p.backendError(errGone)).on(backend)
}
