package rmw

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
)

// scalar returns the settable value behind ptr if text can stand for it.
func scalar(ptr any) (reflect.Value, error) {
	rv := reflect.ValueOf(ptr).Elem()
	if rv.CanInt() || rv.CanUint() || rv.CanFloat() || isBool(rv) || rv.Kind() == reflect.String {
		return rv, nil
	}
	return rv, fmt.Errorf("%w: text cannot stand for a %s; give it MarshalText and UnmarshalText, or use the JSON codec", ErrInvalid, rv.Type())
}

func isBool(rv reflect.Value) bool { return rv.Kind() == reflect.Bool }

// withheld is an error without its text, which may quote a stored value: values do
// not belong in logs. errors.Is and errors.As still find the hidden errors; code that
// walks the chain to print it does not.
type withheld struct {
	text  string
	cause error
}

func (e *withheld) Error() string        { return e.text }
func (e *withheld) Is(target error) bool { return errors.Is(e.cause, target) }
func (e *withheld) As(target any) bool   { return errors.As(e.cause, target) }

// unquoted drops the text that strconv quotes in its errors: stored values do
// not belong in logs.
func unquoted(err error) error {
	var ne *strconv.NumError
	if errors.As(err, &ne) {
		return ne.Err
	}
	return err
}
