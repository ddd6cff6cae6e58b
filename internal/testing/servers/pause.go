//go:build unix

package servers

import "syscall"

// Pause stalls the server, like a stall of its machine: it keeps its connections and answers nothing, until
// [Server.Resume] or its end. On Linux its child processes stall, too: PostgreSQL has one for each connection.
func (s *Server) Pause() error {
	err := s.Signal(syscall.SIGSTOP) // first, so that it starts no more of them
	if err == nil {
		signalChildren(s.PID(), syscall.SIGSTOP)
	}
	return err
}

// Resume ends a [Server.Pause]. It has no effect without one.
func (s *Server) Resume() error {
	signalChildren(s.PID(), syscall.SIGCONT)
	return s.Signal(syscall.SIGCONT)
}
