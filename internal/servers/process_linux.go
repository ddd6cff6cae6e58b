package servers

import (
	"os/exec"
	"syscall"
)

// dieWithUs makes the kernel kill the server when this process is killed, and puts the server into its own
// process group. So an interrupt from the terminal reaches this process first, and killing the group ends
// the server's children, too.
func dieWithUs(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
