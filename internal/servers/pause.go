//go:build unix

package servers

import "syscall"

// Pause stops the server as a long stall of its machine would: it holds its connections
// and answers nothing, until [Server.Resume] or its end.
func (s *Server) Pause() error { return s.Signal(syscall.SIGSTOP) }

// Resume ends a [Server.Pause]. It is harmless without one.
func (s *Server) Resume() error { return s.Signal(syscall.SIGCONT) }
