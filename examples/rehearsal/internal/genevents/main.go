// Command genevents writes the recording of package events. Run it by
//
//	go generate ./examples/rehearsal/...
package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
)

func main() {
	if err := write("events.jsonl.gz"); err != nil {
		fmt.Fprintln(os.Stderr, "genevents:", err)
		os.Exit(1)
	}
}

func write(path string) error {
	var file bytes.Buffer
	w, err := gzip.NewWriterLevel(&file, gzip.BestCompression)
	if err != nil {
		return err
	}
	if err := generate(w); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(path, file.Bytes(), 0o644)
}
