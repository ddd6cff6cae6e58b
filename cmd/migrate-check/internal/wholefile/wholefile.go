// Package wholefile writes files atomically: a reader sees the old content or all of the new one.
package wholefile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Write writes a file with the output of write. On an error, the file keeps its content, and
// no temporary file remains. A symbolic link becomes a file. Write opens a device or a pipe, as /dev/null, and writes
// to it.
func Write(name string, mode fs.FileMode, write func(io.Writer) error) (err error) {
	was, missing := os.Stat(name)
	if missing == nil && !was.Mode().IsRegular() {
		device, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(write(device), device.Close())
	}
	temp, err := os.CreateTemp(filepath.Dir(name), ".migrate-check-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temp.Name()))
		}
	}()
	if missing == nil {
		keepOwner(temp, was)
	}
	err = write(temp)
	if err = errors.Join(err, temp.Chmod(mode), temp.Close()); err != nil {
		return err
	}
	return os.Rename(temp.Name(), name)
}
