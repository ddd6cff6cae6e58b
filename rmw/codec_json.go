package rmw

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// JSON stores a T as one JSON document in a string.
//
// Numbers that T takes as an any arrive as json.Number, so integers above 2^53
// survive the round trip. Fields that T does not know are lost on a write, as
// with encoding/json itself. HTML characters are not escaped.
func JSON[T any]() Codec[T] { return jsonCodec[T]{} }

type jsonCodec[T any] struct{}

func (jsonCodec[T]) Kind() Kind { return KindString }

func (jsonCodec[T]) Decode(v Value, dst *T) error {
	dec := json.NewDecoder(bytes.NewReader([]byte(v.Text())))
	dec.UseNumber()
	if err := dec.Decode(dst); err != nil {
		return &withheld{"json: " + jsonTrouble[T](err), err}
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("json: the stored value goes on after the document")
	}
	return nil
}

// jsonTrouble describes an error of encoding/json, or of a method of T that it
// called, without their quotations of the document.
func jsonTrouble[T any](err error) string {
	var malformed *json.SyntaxError
	var misfit *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF):
		return "the stored value is empty"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the stored value ends within the document"
	case errors.As(err, &malformed):
		return fmt.Sprintf("malformed at byte %d", malformed.Offset)
	case errors.As(err, &misfit):
		kind, _, _ := strings.Cut(misfit.Value, " ") // the number itself follows "number"
		return fmt.Sprintf("a %s at byte %d does not fit %v", kind, misfit.Offset, misfit.Type)
	}
	return fmt.Sprintf("the stored value is not a %v", reflect.TypeFor[T]())
}

func (jsonCodec[T]) Encode(src *T, _ Value) (Value, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(src); err != nil {
		return Value{}, err
	}
	return Bytes(bytes.TrimSuffix(buf.Bytes(), []byte("\n"))), nil
}
