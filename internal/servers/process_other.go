//go:build !linux

package servers

import "os/exec"

// dieWithUs can do no more here than exec.CommandContext does by itself: the
// server ends with its ctx, but survives us if we are killed.
func dieWithUs(*exec.Cmd) {}
