package proxytest

import (
	"io"
	"strconv"
	"strings"

	"github.com/unwatch/unwatch/internal/resp"
	"github.com/unwatch/unwatch/proxycompat"
)

// relay passes a command to the one server and its reply back, as if there
// were no proxy. What the version of the server lacks, and keys that a cluster would
// not take together, are answered as it would.
func (s *session) relay(args []string, rule proxycompat.Rule) outcome {
	c, _ := proxycompat.CommandOf(args...)
	fits := c.Fits(len(args)) // else that is what the server says
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
			return localError(a.Error).on(0)
		}
	}
	if s.tunnel || subscribes(args[0]) {
		return s.relayStream(args)
	}
	reply, err := s.do(0, args)
	if err != nil {
		return outcome{then: closeAfter}
	}
	return outcome{reply: reply}
}

// selectsNothing reports whether args is a SELECT of the database that there is anyway,
// or of none.
func selectsNothing(args []string) bool {
	n, err := strconv.Atoi(args[len(args)-1])
	return is(args, "SELECT") && (err != nil || n == 0)
}

// relayStream passes a command on without waiting for a reply: from the first
// subscription on, replies are relayed by a goroutine as they come.
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
