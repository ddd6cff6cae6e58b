//go:build unix

package servers

import "syscall"

// Pause stalls the server, like a stall of its machine: it keeps its connections and answers nothing, until
// [Server.Resume] or its end.
func (s *Server) Pause() error { return s.Signal(syscall.SIGSTOP) }

// Resume ends a [Server.Pause]. It has no effect without one.
func (s *Server) Resume() error { return s.Signal(syscall.SIGCONT) }
