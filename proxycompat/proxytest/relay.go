package proxytest

import (
	"io"
	"strconv"
	"strings"

	"github.com/unwatch/unwatch/internal/resp"
	"github.com/unwatch/unwatch/proxycompat"
)

// relay sends a command to the single server and returns its reply. It makes the server's error for missing
// commands of its version, and for keys of different slots in a cluster.
func (s *session) relay(args []string, rule proxycompat.Rule) outcome {
	c, _ := proxycompat.CommandOf(args...)
	fits := c.Fits(len(args)) // otherwise the server reports the error
	if fits && rule.Verdict == proxycompat.Refused && !selectsNothing(args) {
		return s.refuse(args)
	}
	args, o, done := s.password(args)
	if done {
		return o
	}
	if fits {
		if o, apart := s.crossSlot(args, rule); apart {
			return o
		}
		if a, newer := rule.TooNew(args); newer && a.Error != "" {
			return s.tooNew(a.Error)
		}
	}
	if s.tunnel || subscribes(args[0]) {
		return s.relayStream(args)
	}
	reply, err := s.do(0, args)
	if err != nil {
		return outcome{then: closeAfter}
	}
	s.pin.multi = is(args, "MULTI") || s.pin.multi && !is(args, "EXEC") && !is(args, "DISCARD")
	return outcome{reply: reply}
}

// tooNew answers an argument that the server's version lacks. In a transaction, a wrong number of arguments
// is an error at once, which aborts EXEC; any other error is a reply of EXEC.
func (s *session) tooNew(text string) outcome {
	if !s.pin.multi {
		return localError(text).on(0)
	}
	if !strings.HasPrefix(text, "ERR wrong number of arguments") {
		return s.forward(0, []string{"EVAL", "return redis.error_reply(ARGV[1])", "0", text})
	}
	if o := s.forward(0, []string{"GET"}); o.then != goOn { // too few arguments abort, too
		return o
	}
	return localError(text).on(0)
}

// selectsNothing reports whether args selects the only database, or a missing one.
func selectsNothing(args []string) bool {
	n, err := strconv.Atoi(args[len(args)-1])
	return is(args, "SELECT") && (err != nil || n == 0)
}

// relayStream forwards a command without waiting for a reply: after the first subscription a goroutine
// relays replies as they arrive.
func (s *session) relayStream(args []string) outcome {
	l, err := s.link(0)
	if err != nil {
		return outcome{then: closeAfter}
	}
	if !s.tunnel {
		s.tunnel = true
		s.p.wg.Go(func() {
			_, _ = io.Copy(s.conn, l.br)
			s.cut()
		})
	}
	if _, err := l.conn.Write(resp.AppendCommand(nil, args...)); err != nil {
		return outcome{then: closeAfter}
	}
	return outcome{}
}

func subscribes(command string) bool {
	switch strings.ToUpper(command) {
	case "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "MONITOR":
		return true
	}
	return false
}
