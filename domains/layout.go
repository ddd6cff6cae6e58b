package domains

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/unwatch/unwatch/rmw"
)

// Layout is the stored form of an entity.
type Layout uint8

const (
	// JSON is one document in a string. It is the zero Layout.
	JSON Layout = iota
	// Hash is one hash field per attribute: text, numbers as decimals, times in milliseconds, true as 1, and
	// JSON for the rest. Each member of a room and each slot of an agent has its own field.
	Hash
	// HashByVersion stores the same fields as Hash, and both may be used on one key. Its guard compares only
	// the version and the fields that the operation changes, so an update sends fewer bytes. Every writer of
	// the key must count the version up, as these packages do. The change of a writer that does not is never
	// overwritten unseen, but an operation may be decided without its rules having checked that change.
	HashByVersion
)

// String returns "json", "hash" or "hash by version".
func (l Layout) String() string {
	switch l {
	case Hash:
		return "hash"
	case HashByVersion:
		return "hash by version"
	default:
		return "json"
	}
}

// document is the JSON layout.
type document[T any] struct{}

func (document[T]) Kind() rmw.Kind { return rmw.KindString }

func (document[T]) Decode(v rmw.Value, dst *T) error {
	if err := readJSON(v.Text(), dst); err != nil {
		return describe(err)
	}
	return nil
}

func (document[T]) Encode(src *T, _ rmw.Value) (rmw.Value, error) {
	b, err := json.Marshal(src)
	return rmw.Bytes(b), err
}

// trouble is an error whose text quotes no stored data.
type trouble struct{ text string }

func (t *trouble) Error() string { return t.text }

// describe returns an error about a stored document that does not quote it: stored data may be private.
func describe(err error) error {
	if t, ok := errors.AsType[*trouble](err); ok {
		return t
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return &trouble{fmt.Sprintf("malformed JSON at byte %d", e.Offset)}
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		what := "what is stored"
		if e.Field != "" {
			what = fmt.Sprintf("field %q", e.Field)
		}
		return &trouble{what + " is not " + form(e.Type)}
	}
	return &trouble{"the stored value has another form"}
}

// form names the JSON that encoding/json decodes into typ.
func form(typ reflect.Type) string {
	switch typ.Kind() {
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	default:
		return "a number that fits " + typ.Kind().String()
	}
}
