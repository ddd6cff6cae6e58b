package wholefile_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/wholefile"
)

var errFull = errors.New("the disk is full")

func writing(text string, err error) func(io.Writer) error {
	return func(w io.Writer) error {
		_, failed := io.WriteString(w, text)
		return errors.Join(failed, err)
	}
}

// /dev/null stays a device, also for root.
func TestWriteToADevice(t *testing.T) {
	link := filepath.Join(t.TempDir(), "null")
	require.NoError(t, os.Symlink(os.DevNull, link))
	require.NoError(t, wholefile.Write(link, 0o644, writing("text", nil)))
	info, err := os.Lstat(link)
	require.NoError(t, err)
	assert.Equal(t, os.ModeSymlink, info.Mode().Type())
	require.Error(t, wholefile.Write(t.TempDir(), 0o644, writing("text", nil)), "a folder")
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "file")
	require.NoError(t, wholefile.Write(name, 0o640, writing("whole", nil)))
	require.ErrorIs(t, wholefile.Write(name, 0o600, writing("ha", errFull)), errFull)
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	assert.Equal(t, "whole", string(text))
	info, err := os.Stat(name)
	require.NoError(t, err)
	assert.EqualValues(t, 0o640, info.Mode())
	assert.Error(t, wholefile.Write(filepath.Join(name, "below"), 0o600, writing("", nil)))
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, files, 1, "nothing is left beside it")
}

// A run as root keeps the owner of the sources.
func TestWriteKeepsTheOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root may give files away")
	}
	name := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(name, nil, 0o600))
	require.NoError(t, os.Chown(name, 12, 34))
	before, err := os.Stat(name)
	require.NoError(t, err)
	require.NoError(t, wholefile.Write(name, 0o600, writing("text", nil)))
	after, err := os.Stat(name)
	require.NoError(t, err)
	owner := func(info os.FileInfo) []any {
		v := reflect.Indirect(reflect.ValueOf(info.Sys()))
		return []any{v.FieldByName("Uid").Uint(), v.FieldByName("Gid").Uint()}
	}
	assert.Equal(t, owner(before), owner(after))
}
