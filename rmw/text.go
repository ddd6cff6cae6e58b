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
	return rv, fmt.Errorf("text cannot stand for a %s; give it MarshalText and UnmarshalText, or use the JSON codec", rv.Type())
}

func isBool(rv reflect.Value) bool { return rv.Kind() == reflect.Bool }

// unquoted drops the text that strconv quotes in its errors: stored values do
// not belong in logs.
func unquoted(err error) error {
	var ne *strconv.NumError
	if errors.As(err, &ne) {
		return ne.Err
	}
	return err
}
