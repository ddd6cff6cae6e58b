package worker

import (
	"encoding/json"
	"strings"
)

// documentSize is what a stored document is padded to.
const documentSize = 128

// document is what the updates work on: small, and not free to decode.
type document struct {
	Count int64    `json:"count"`
	Room  string   `json:"room"`
	Tags  []string `json:"tags"`
	Pad   string   `json:"pad"`
}

// increment is the fn of every update. No value at all is a document that counts
// none.
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

// Count is how many updates a document has had; no document had none.
func Count(doc []byte) (int64, error) {
	if len(doc) == 0 {
		return 0, nil
	}
	var d document
	err := json.Unmarshal(doc, &d)
	return d.Count, err
}
