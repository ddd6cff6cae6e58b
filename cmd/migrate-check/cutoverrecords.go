package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/unwatch/unwatch/cutover/operate"
	"github.com/unwatch/unwatch/internal/cutoverstatus"
)

// The file of -passes has one JSON record on each line. A command appends its record with a single
// write, so that sweeps and verifies may run at the same time.

// records reads the file of -passes, which need not exist yet, except for advance. A crash may have
// cut a record: it is left out.
func (f *cutoverFlags) records(action string) (records []cutoverstatus.Record, err error) {
	if f.passes == "" {
		return nil, nil
	}
	text, err := os.ReadFile(f.passes)
	if action != "advance" && errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("-passes %s: %w", f.passes, err)
	}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		var r cutoverstatus.Record
		switch err := json.NewDecoder(bytes.NewReader(bytes.TrimSpace(line))).Decode(&r); {
		case err == nil:
			records = append(records, r)
		case !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
			return nil, fmt.Errorf("-passes %s, line %d: %w; sweep and verify write such a file: name another one", f.passes, number, err)
		}
	}
	return records, nil
}

// record adds a result to the file of -passes. The line break before it ends a record that a crash has cut.
func (f *cutoverFlags) record(last cutoverstatus.Record) error {
	if f.passes == "" {
		return nil
	}
	text, err := json.Marshal(last)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(f.passes, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("-passes: %w", err)
	}
	_, err = fmt.Fprintf(file, "\n%s\n", text)
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("-passes: %w", err)
	}
	return nil
}

func (f *cutoverFlags) evidence(census []operate.Process, records []cutoverstatus.Record) operate.Evidence {
	e := operate.Evidence{Name: f.name, Census: census}
	for _, r := range records {
		if r.Pass != nil {
			e.Passes = append(e.Passes, *r.Pass)
		}
		if r.Verify != nil {
			e.Reports = append(e.Reports, *r.Verify)
		}
	}
	return e
}
