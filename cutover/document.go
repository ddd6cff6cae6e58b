package cutover

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/cutover/internal/names"
	"github.com/unwatch/unwatch/rmw"
)

// version is the greatest version of a stage document that this build reads. Increment it with
// each new field: a build that does not know the field must not run at that stage.
const version = 1

// document is how a Stage is stored, in JSON.
type document struct {
	Version int `json:"version"`
	Stage
}

// refusal is an error that fails each call, although there is a stage in force.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

var errMalformed = fmt.Errorf("%w: this is no stage document; correct or delete it", rmw.ErrInvalid)

// Document returns the stage document: the JSON that [FromKey], [FromFile] and [FromHTTP] read.
func (s Stage) Document() string {
	text, err := json.Marshal(document{Version: version, Stage: s})
	if err != nil {
		panic(err) // no field can fail
	}
	return string(text)
}

// ParseStage returns the Stage of a document. It refuses a member that it does not know, with an
// [rmw.ErrInvalid]: misspelled, it would have no effect.
func ParseStage(text []byte) (Stage, error) {
	var head struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return Stage{}, fmt.Errorf("%w: %w", errMalformed, err)
	}
	if head.Version > version {
		return Stage{}, refusal{fmt.Errorf("%w: the stage document has version %d, and this build reads versions up to %d; "+
			"deploy a newer build, or replace the document", rmw.ErrInvalid, head.Version, version)}
	}
	var d document
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&d); err != nil {
		return Stage{}, fmt.Errorf("%w: %w", errMalformed, err)
	}
	if d.Version < 1 || d.Epoch < 1 {
		return Stage{}, fmt.Errorf("%w: version is %d and epoch is %d; use numbers from 1", errMalformed, d.Version, d.Epoch)
	}
	return d.Stage, d.Validate()
}

// errNone means that there is no document.
var errNone = errors.New("there is no stage document")

// answer is a read of the document at one place: a store, a file or a URL.
type answer struct {
	stage Stage
	err   error
}

// readTimeout is for each read of the document. With the poll interval it bounds how long a
// process does not see a new stage.
const readTimeout = 700 * time.Millisecond

// readBoth reads the documents of both stores, the old store's first.
func readBoth(ctx context.Context, key rmw.Key, old, new rmw.Reader) []answer {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	read := func(side string, store rmw.Reader) answer {
		a := decodeValue(store.Read(ctx, key))
		if a.err != nil {
			a.err = fmt.Errorf("the %s store: %w", side, a.err)
		}
		return a
	}
	other := make(chan answer, 1)
	go func() { other <- read("new", new) }()
	return []answer{read("old", old), <-other}
}

func decodeText(text []byte, err error) (a answer) {
	if a.err = err; err == nil {
		a.stage, a.err = ParseStage(text)
	}
	return a
}

func decodeValue(v rmw.Value, err error) answer {
	if err == nil && !v.Exists() {
		err = errNone
	}
	return decodeText([]byte(v.Text()), err)
}

// Current returns the stage that is published, Follow if there is none. If it can read one store
// only, it returns that store's stage and an error.
func Current(ctx context.Context, name string, old, new rmw.Reader) (Stage, error) {
	key, err := names.Document(name)
	if err != nil {
		return Stage{}, err
	}
	return greatest(readBoth(ctx, key, old, new))
}

// greatest returns the stage with the greatest epoch, the old store's if both have the same.
func greatest(answers []answer) (stage Stage, err error) {
	for _, a := range answers {
		switch {
		case errors.Is(a.err, errNone):
		case a.err != nil:
			err = errors.Join(err, a.err)
		case a.stage.Epoch > stage.Epoch:
			stage = a.stage
		}
	}
	return stage, err
}
