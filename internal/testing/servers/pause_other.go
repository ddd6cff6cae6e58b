//go:build !unix

package servers

import (
	"errors"
	"fmt"
)

// Pause always fails here: this system has no SIGSTOP.
func (s *Server) Pause() error { return fmt.Errorf("pause a server: %w", errors.ErrUnsupported) }

// Resume has no effect without a [Server.Pause].
func (s *Server) Resume() error { return nil }
