package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// profileName makes the name of a profile of the name of its file.
func profileName(file string) (string, error) {
	ending := filepath.Ext(file)
	name := strings.TrimSuffix(filepath.Base(file), ending)
	if ending != ".yaml" && ending != ".yml" || name == "" || name != strings.ToLower(name) || strings.ContainsAny(name, " \t@") {
		return "", fmt.Errorf("-o: want a file in lower case that ends in .yaml or .yml, such as our-codis.yaml: %q", file)
	}
	return name, nil
}

// tryOutput finds out, before anything is asked, whether -o can be written, and leaves
// the file as it was.
func (f *probeFlags) tryOutput() error {
	if _, err := profileName(f.output); err != nil {
		return err
	}
	_, err := os.Lstat(f.output)
	exists := err == nil
	if err := f.create(nil); err != nil {
		return err
	}
	if exists {
		return nil
	}
	if err := os.Remove(f.output); err != nil {
		return fmt.Errorf("-o: %w", err)
	}
	return nil
}

// create writes the file of -o; nil writes nothing, and leaves what a file has.
func (f *probeFlags) create(data []byte) error {
	mode := os.O_WRONLY | os.O_CREATE
	if !f.force {
		mode |= os.O_EXCL
	}
	if data != nil {
		mode |= os.O_TRUNC
	}
	file, err := os.OpenFile(f.output, mode, 0o644) // a profile is no secret
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("-o: %s exists; -f overwrites it", f.output)
	}
	if err != nil {
		return fmt.Errorf("-o: %w", err)
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("-o: %w", err)
	}
	return nil
}
