package worker

import (
	"encoding/json"
	"strings"
)

// documentSize is the padded size of a stored document.
const documentSize = 128

// document is the value of the updates: small, with a realistic cost to decode.
type document struct {
	Count int64    `json:"count"`
	Room  string   `json:"room"`
	Tags  []string `json:"tags"`
	Pad   string   `json:"pad"`
}

// increment is the fn of every update. An absent value counts as 0.
func increment(old []byte) ([]byte, error) {
	d := document{Room: "room", Tags: []string{"a", "b"}}
	if old != nil {
		if err := json.Unmarshal(old, &d); err != nil {
			return nil, err
		}
	}
	d.Count++
	next, err := json.Marshal(d)
	if err == nil && old == nil && len(next) < documentSize {
		d.Pad = strings.Repeat("x", documentSize-len(next))
		return json.Marshal(d)
	}
	return next, err
}

// Count returns the number of updates of a document, 0 for an absent one.
func Count(doc []byte) (int64, error) {
	if len(doc) == 0 {
		return 0, nil
	}
	var d document
	err := json.Unmarshal(doc, &d)
	return d.Count, err
}
