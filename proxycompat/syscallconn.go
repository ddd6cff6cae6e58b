package proxycompat

import (
	"net"
	"syscall"
)

// keepSyscall returns outer, with the syscall.Conn of inner if it has one. go-redis uses it to detect an
// idle connection that its peer has closed, and silently skips the check without it.
func keepSyscall(outer, inner net.Conn) net.Conn {
	if raw, ok := inner.(syscall.Conn); ok {
		return sysConn{Conn: outer, raw: raw}
	}
	return outer
}

type sysConn struct {
	net.Conn
	raw syscall.Conn
}

func (c sysConn) SyscallConn() (syscall.RawConn, error) { return c.raw.SyscallConn() }
