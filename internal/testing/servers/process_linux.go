package servers

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// dieWithUs makes the kernel kill the server when this process is killed, and puts the server into its own
// process group. So an interrupt from the terminal reaches this process first, and killing the group ends
// the server's children, too.
func dieWithUs(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error {
		signalChildren(cmd.Process.Pid, syscall.SIGCONT) // a stalled one would not notice the end
		return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}

// signalChildren sends a signal to the child processes of a process, also to those in groups of their own.
func signalChildren(pid int, sig syscall.Signal) {
	for _, child := range childrenOf(pid) {
		_ = syscall.Kill(child, sig) // it may have ended
	}
}

func childrenOf(pid int) (children []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // the pattern is valid
	for _, list := range lists {
		text, _ := os.ReadFile(list) // a process that has ended has none
		for child := range strings.FieldsSeq(string(text)) {
			if id, err := strconv.Atoi(child); err == nil {
				children = append(children, id)
			}
		}
	}
	return children
}

// leaveRoot makes cmd run as the user nobody if this process is root's, because PostgreSQL refuses to run as root.
// The folder and the files in it then belong to nobody, and the folders above it can be entered by all.
func leaveRoot(cmd *exec.Cmd, folder string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		return err
	}
	uid, err := strconv.Atoi(nobody.Uid)
	if err != nil {
		return err
	}
	gid, err := strconv.Atoi(nobody.Gid)
	if err != nil {
		return err
	}
	err = filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, uid, gid)
	})
	if err != nil {
		return err
	}
	for dir := filepath.Dir(folder); dir != os.TempDir() && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if err := os.Chmod(dir, info.Mode().Perm()|0o011); err != nil {
			return err
		}
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return nil
}
