//go:build !linux

package servers

import (
	"os/exec"
	"syscall"
)

// dieWithUs adds nothing to exec.CommandContext here: the server ends with its ctx, but survives a kill of
// this process.
func dieWithUs(*exec.Cmd) {}

// signalChildren does nothing here.
func signalChildren(int, syscall.Signal) {}

// leaveRoot does nothing here: run the tests as another user than root.
func leaveRoot(*exec.Cmd, string) error { return nil }
