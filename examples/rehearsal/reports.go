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
	saved int  // number of files
}

// openFolder returns the folder at a path, a new one for "", and nil for "-". An unwritable folder
// fails before any act runs.
func openFolder(path string) (f *folder, err error) {
	if path == "-" {
		return nil, nil
	}
	f = &folder{path: path, fresh: path == ""}
	if f.fresh {
		f.path, err = os.MkdirTemp("", "unwatch-rehearsal-")
	} else {
		err = os.MkdirAll(path, 0o755) //nolint:gosec // reports are redacted and may be shared
	}
	if err == nil {
		f.root, err = os.OpenRoot(f.path)
	}
	if err == nil {
		const try = ".unwatch-rehearsal-try"
		_ = f.root.Remove(try) // left by a killed run
		err = errors.Join(f.root.Mkdir(try, 0o700), f.root.Remove(try))
	}
	if err != nil {
		return nil, fmt.Errorf("-report: cannot write there: %w; give another folder, or - for none", err)
	}
	return f, nil
}

// close removes a fresh folder without files.
func (f *folder) close() error {
	if f == nil {
		return nil
	}
	if f.fresh && f.saved == 0 {
		_ = os.Remove(f.path)
	}
	return f.root.Close()
}

// save writes a report in every format.
func (f *folder) save(name string, rep *report.Report) error {
	if f == nil {
		return nil
	}
	for _, form := range []struct {
		ending string
		write  func(io.Writer, report.Policy) error
	}{{".json", rep.WriteJSON}, {".txt", rep.WriteText}, {".html", rep.WriteHTML}} {
		file, err := f.root.Create(name + form.ending)
		if err == nil {
			f.saved++
			err = errors.Join(form.write(file, rehearsalPolicy()), file.Close())
		}
		if err != nil {
			return fmt.Errorf("save the report: %w", err)
		}
	}
	return nil
}
