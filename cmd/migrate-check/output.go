package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/wholefile"
)

// outputFile is the file of -o, which is written whole or not at all.
type outputFile struct {
	name  string // "": none
	force bool   // overwrite another
}

func (o *outputFile) register(flags *flag.FlagSet, about string) {
	flags.StringVar(&o.name, "o", "", about)
	flags.BoolVar(&o.force, "f", false, "let -o overwrite a file")
}

// try finds out early whether the file can be written.
func (o *outputFile) try() error {
	if o.name == "" {
		return nil
	}
	if _, err := os.Lstat(o.name); err == nil && !o.force {
		return fmt.Errorf("-o: %s exists; -f overwrites it", o.name)
	}
	file, err := os.CreateTemp(filepath.Dir(o.name), ".migrate-check-*")
	if err != nil {
		return fmt.Errorf("-o: %w", err)
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}

// write writes the file with the output of write.
func (o *outputFile) write(write func(io.Writer) error) error {
	err := wholefile.Write(o.name, 0o644, func(w io.Writer) error { // others may read it
		if err := write(w); err != nil || o.force {
			return err
		}
		if _, there := os.Lstat(o.name); !errors.Is(there, fs.ErrNotExist) {
			return fmt.Errorf("%s exists by now", o.name)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("-o: %w", err)
	}
	return nil
}
