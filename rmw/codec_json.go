package rmw

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
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
		if errors.Is(err, io.EOF) {
			return errors.New("json: the stored value is empty")
		}
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("json: the stored value goes on after the document")
	}
	return nil
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
