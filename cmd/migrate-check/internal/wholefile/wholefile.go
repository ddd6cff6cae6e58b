// Package wholefile writes files in one step: who reads one finds what it was, or all of what
// it has become, whatever goes wrong in between.
package wholefile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Write makes a file of what write writes. If that or anything else fails, the file is as it
// was, and nothing is left beside it. A symbolic link becomes a file. What is no file, as
// /dev/null or a pipe, is written to as it is.
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
