package proxytest

import (
	"io"
	"strings"

	"github.com/unwatch/unwatch/internal/resp"
)

// relay passes a command to the one server and its reply back, as if there
// were no proxy.
func (s *session) relay(args []string) outcome {
	if s.tunnel || subscribes(args[0]) {
		return s.relayStream(args)
	}
	reply, err := s.do(0, args)
	if err != nil {
		return outcome{then: closeAfter}
	}
	return outcome{reply: reply}
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
