package domains

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
)

// field is one stored attribute of a struct.
type field struct {
	name      string
	index     []int
	omitEmpty bool
	// each is the prefix of the hash fields that hold a map's entries, one each.
	each string
}

// fieldsOf returns the fields of struct typ that encoding/json stores, in order. It includes the fields of an
// embedded struct without a name of its own.
func fieldsOf(typ reflect.Type) []field {
	var fields []field
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Tag.Get("json") == "-":
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			for _, inner := range fieldsOf(f.Type) {
				inner.index = append([]int{i}, inner.index...)
				fields = append(fields, inner)
			}
		case f.IsExported():
			fields = append(fields, field{
				name:      cmp.Or(name, f.Name),
				index:     []int{i},
				omitEmpty: slices.Contains(strings.Split(options, ","), "omitempty"),
				each:      f.Tag.Get("hash"),
			})
		}
	}
	return fields
}
