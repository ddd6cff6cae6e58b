//go:build unix

package wholefile

import (
	"os"
	"syscall"
)

// keepOwner gives a file the owner of the file that it replaces, if the process may do so. So a run as root does not
// change the owner of sources.
func keepOwner(temp *os.File, was os.FileInfo) {
	mine, err := temp.Stat()
	if err != nil {
		return
	}
	old, ok1 := was.Sys().(*syscall.Stat_t)
	now, ok2 := mine.Sys().(*syscall.Stat_t)
	if ok1 && ok2 && (old.Uid != now.Uid || old.Gid != now.Gid) {
		_ = temp.Chown(int(old.Uid), int(old.Gid))
	}
}
