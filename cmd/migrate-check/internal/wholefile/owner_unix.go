//go:build unix

package wholefile

import (
	"os"
	"syscall"
)

// keepOwner gives a file the owner of the one whose place it takes, if whoever runs this may do
// so: root shall not make somebody's sources its own.
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
