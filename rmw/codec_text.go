package rmw

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"
)

// Text stores a T as plain text in a string: what INCR, or a person with
// redis-cli, expects. T is a string, a []byte, a bool, an integer, a float, or a
// type whose pointer has MarshalText and UnmarshalText.
func Text[T any]() Codec[T] { return textCodec[T]{} }

type textCodec[T any] struct{}

func (textCodec[T]) Kind() Kind { return KindString }

func (textCodec[T]) Decode(v Value, dst *T) error { return parseText(v.Text(), dst) }

func (textCodec[T]) Encode(src *T, _ Value) (Value, error) {
	s, err := formatText(src)
	if err != nil {
		return Value{}, err
	}
	return String(s), nil
}

// formatText renders what ptr points to.
func formatText(ptr any) (string, error) {
	if m, ok := ptr.(encoding.TextMarshaler); ok {
		b, err := m.MarshalText()
		return string(b), err
	}
	switch p := ptr.(type) {
	case *string:
		return *p, nil
	case *[]byte:
		return string(*p), nil
	}
	rv, err := scalar(ptr)
	if err != nil {
		return "", err
	}
	switch {
	case rv.CanInt():
		return strconv.FormatInt(rv.Int(), 10), nil
	case rv.CanUint():
		return strconv.FormatUint(rv.Uint(), 10), nil
	case rv.CanFloat():
		return strconv.FormatFloat(rv.Float(), 'g', -1, rv.Type().Bits()), nil
	case isBool(rv):
		return strconv.FormatBool(rv.Bool()), nil
	}
	return rv.String(), nil
}

// parseText sets what ptr points to. The error shows the wanted type, not the
// stored text: that may be private.
func parseText(s string, ptr any) error {
	if u, ok := ptr.(encoding.TextUnmarshaler); ok {
		if err := u.UnmarshalText([]byte(s)); err != nil {
			return &withheld{fmt.Sprintf("the stored text (%d bytes) is not a %v", len(s), reflect.TypeOf(ptr).Elem()), err}
		}
		return nil
	}
	switch p := ptr.(type) {
	case *string:
		*p = s
		return nil
	case *[]byte:
		*p = []byte(s)
		return nil
	}
	rv, err := scalar(ptr)
	if err != nil {
		return err
	}
	switch {
	case rv.CanInt():
		n, perr := strconv.ParseInt(s, 10, rv.Type().Bits())
		err = perr
		rv.SetInt(n)
	case rv.CanUint():
		n, perr := strconv.ParseUint(s, 10, rv.Type().Bits())
		err = perr
		rv.SetUint(n)
	case rv.CanFloat():
		f, perr := strconv.ParseFloat(s, rv.Type().Bits())
		err = perr
		rv.SetFloat(f)
	case isBool(rv):
		b, perr := strconv.ParseBool(s)
		err = perr
		rv.SetBool(b)
	default:
		rv.SetString(s)
	}
	if err != nil {
		return fmt.Errorf("the stored text (%d bytes) is not a %s: %w", len(s), rv.Type(), unquoted(err))
	}
	return nil
}
