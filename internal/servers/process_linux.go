package servers

import (
	"os/exec"
	"syscall"
)

// dieWithUs makes the kernel kill the server when we die without the chance to
// do it ourselves, and puts it in a process group of its own: then an
// interrupt from the terminal reaches us first, and killing the group leaves
// none of the server's children behind.
func dieWithUs(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
