package proxycompat

import (
	"net"
	"syscall"
)

// keepSyscall returns outer, with the syscall.Conn of inner if it has one.
// go-redis looks for it to notice that an idle connection was closed by its
// peer; a wrapper without it would turn that check off without a word.
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
