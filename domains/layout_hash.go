package domains

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/driver"
)

// hashOf is the hash layout. Decode reads all known fields, and every field if the entries of a map have their
// own fields. With byVersion, the guard covers only the version.
type hashOf[T any] struct {
	fields    []field
	byVersion bool
}

func newHashOf[T any](byVersion bool) hashOf[T] {
	return hashOf[T]{fields: fieldsOf(reflect.TypeFor[T]()), byVersion: byVersion}
}

func (hashOf[T]) Kind() rmw.Kind { return rmw.KindHash }

func (h hashOf[T]) Decode(v rmw.Value, dst *T) error {
	if h.byVersion {
		v.Field(versionName)
		v = driver.Untraced(v)
	}
	rv := reflect.ValueOf(dst).Elem()
	for _, f := range h.fields {
		target := rv.FieldByIndex(f.index)
		if f.each != "" {
			if err := gather(v, f.each, target); err != nil {
				return err
			}
			continue
		}
		text, ok := v.Field(f.name)
		if !ok {
			continue
		}
		if err := parse(text, target); err != nil {
			return &trouble{fmt.Sprintf("field %q: %v", f.name, describe(err))}
		}
	}
	return nil
}

// gather decodes a map from the fields that begin with prefix.
func gather(v rmw.Value, prefix string, target reflect.Value) error {
	for name, text := range v.All() {
		key, ok := strings.CutPrefix(name, prefix)
		if !ok {
			continue
		}
		if target.IsNil() {
			target.Set(reflect.MakeMap(target.Type()))
		}
		entry := reflect.New(target.Type().Elem())
		if err := parse(text, entry.Elem()); err != nil {
			return &trouble{fmt.Sprintf("a field %q…: %v", prefix, describe(err))}
		}
		target.SetMapIndex(reflect.ValueOf(key), entry.Elem())
	}
	return nil
}

// Encode changes the fields of cur that differ, and keeps unknown fields.
func (h hashOf[T]) Encode(src *T, cur rmw.Value) (rmw.Value, error) {
	set, err := h.format(src)
	if err != nil {
		return rmw.Value{}, err
	}
	var gone []string
	stored := driver.Untraced(cur) // Decode has traced the fields of the guard
	for name, text := range stored.All() {
		switch now, stays := set[name]; {
		case !stays && h.knows(name):
			gone = append(gone, name)
		case stays && now == text:
			delete(set, name)
		}
	}
	next := cur.WithFields(set)
	if len(gone) > 0 {
		next = next.Without(gone...)
	}
	return next, nil
}

// format returns the fields of src.
func (h hashOf[T]) format(src *T) (map[string]string, error) {
	set := map[string]string{}
	rv := reflect.ValueOf(src).Elem()
	for _, f := range h.fields {
		value := rv.FieldByIndex(f.index)
		if f.each != "" {
			for key, entry := range value.Seq2() {
				text, err := format(entry)
				if err != nil {
					return nil, err
				}
				set[f.each+key.String()] = text
			}
			continue
		}
		if f.omitEmpty && isEmpty(value) {
			continue
		}
		text, err := format(value)
		if err != nil {
			return nil, err
		}
		set[f.name] = text
	}
	return set, nil
}

func (h hashOf[T]) knows(name string) bool {
	for _, f := range h.fields {
		if f.each == "" && f.name == name || f.each != "" && strings.HasPrefix(name, f.each) {
			return true
		}
	}
	return false
}

// isEmpty reports whether encoding/json omits v as empty.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Map, reflect.Slice:
		return v.Len() == 0
	default:
		return v.IsZero()
	}
}

// format returns the text of one attribute.
func format(v reflect.Value) (string, error) {
	switch v.Kind() {
	case reflect.String:
		return v.String(), nil
	case reflect.Bool:
		if v.Bool() {
			return "1", nil
		}
		return "0", nil
	default:
		b, err := json.Marshal(v.Interface()) // of an integer: its decimals
		return string(b), err
	}
}

// parse is format's inverse.
func parse(text string, target reflect.Value) error {
	switch target.Kind() {
	case reflect.String:
		target.SetString(text)
		return nil
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return &trouble{"neither 1 nor 0"}
		}
		target.SetBool(b)
		return nil
	default:
		return readJSON(text, target.Addr().Interface())
	}
}
