package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/unwatch/unwatch/shadow/report"
)

// folder is the folder of the shadow reports. It writes no file outside, even through links.
type folder struct {
	path  string
	root  *os.Root
	fresh bool // made for this run
	files []string
}

// openFolder returns the folder of the flags, or nil without one. An unwritable folder fails before
// any act runs.
func openFolder(cfg config) (f *folder, err error) {
	f = &folder{path: cfg.reports}
	switch {
	case cfg.freshReports:
		f.fresh = true
		f.path, err = os.MkdirTemp("", "unwatch-rehearsal-")
	case f.path == "":
		return nil, nil
	default:
		err = os.MkdirAll(f.path, 0o755) //nolint:gosec // reports are redacted and may be shared
	}
	if err == nil {
		f.root, err = os.OpenRoot(f.path)
	}
	if err == nil {
		err = f.try()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("-report: cannot write there: %w; give another folder, or - for none", err), f.close())
	}
	return f, nil
}

// try writes a temporary file.
func (f *folder) try() error {
	const name = ".unwatch-rehearsal-try"
	_ = f.root.Remove(name) // left by a killed run
	file, err := f.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), f.root.Remove(name))
}

// close removes an empty folder.
func (f *folder) close() (err error) {
	if f == nil {
		return nil
	}
	if f.root != nil {
		err = f.root.Close()
	}
	if f.fresh && len(f.files) == 0 && f.path != "" {
		_ = os.Remove(f.path)
	}
	return err
}

// save writes a report in every format.
func (r *rehearsal) save(name string, rep *report.Report) error {
	if r.folder == nil {
		return nil
	}
	for _, form := range []struct {
		ending string
		write  func(io.Writer, report.Policy) error
	}{
		{".json", rep.WriteJSON},
		{".txt", rep.WriteText},
		{".html", rep.WriteHTML},
	} {
		if err := r.folder.write(name+form.ending, form.write); err != nil {
			return fmt.Errorf("save the report: %w", err)
		}
	}
	return nil
}

func (f *folder) write(name string, write func(io.Writer, report.Policy) error) error {
	file, err := f.root.Create(name)
	if err != nil {
		return err
	}
	f.files = append(f.files, name)
	return errors.Join(write(file, rehearsalPolicy()), file.Close())
}
