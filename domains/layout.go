package domains

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/unwatch/unwatch/rmw"
)

// Layout is how an entity lies in the store.
type Layout uint8

const (
	// JSON is one document in a string. It is the zero Layout.
	JSON Layout = iota
	// Hash is one hash field per attribute: text, numbers as decimals, times in
	// milliseconds, true as 1, anything else in JSON. Of the members of a room and
	// the slots of an agent, each has a field of its own.
	Hash
	// HashByVersion lies as Hash does, and may be used beside it. It takes an entity
	// for unchanged if its version is, and what the operation changes: so a path with
	// a guard of its own sends these fields, not all of them. That is right if
	// whoever writes the entity counts the version up, as these packages do. Somebody
	// who does not cannot make an update get lost, but can slip a change in that the
	// operation's rules have not seen.
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

// trouble is an error whose text quotes nothing of what is stored.
type trouble struct{ text string }

func (t *trouble) Error() string { return t.text }

// describe says what is wrong with a stored document without quoting it: what is
// stored may be private.
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
	return &trouble{"what is stored is of another form"}
}

// form says what encoding/json reads into a typ.
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
