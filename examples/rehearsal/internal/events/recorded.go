package events

import (
	"bytes"
	"compress/gzip"
	_ "embed" // the recording
)

//go:generate go run ../genevents

// File is the name of the recording.
const File = "events.jsonl.gz"

//go:embed events.jsonl.gz
var recording []byte

// Recorded returns the embedded recording: one day of a chat service, with a few large rooms
// and many small ones.
func Recorded() ([]Event, error) {
	r, err := gzip.NewReader(bytes.NewReader(recording))
	if err != nil {
		return nil, &Error{File: File, Err: err}
	}
	return Read(r, File)
}
