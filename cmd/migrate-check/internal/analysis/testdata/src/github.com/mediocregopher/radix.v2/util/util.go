// Package util is a stand-in for that of radix v2.
package util

// Cmder is a client, a pool or a cluster.
type Cmder interface {
	Cmd(cmd string, args ...any) any
}
