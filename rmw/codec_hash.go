package rmw

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"
)

// HashOf stores a struct as a hash, one field of the hash per exported field of
// the struct, rendered as by [Text]. The tag is go-redis' own, so a type that is
// read with HGetAll(...).Scan works as it is:
//
//	type Session struct {
//		State string `redis:"state"`
//		Owner string `redis:"owner,omitempty"`
//		Note  string `redis:"-"`
//	}
//
// A field without a tag uses its Go name; an embedded struct is one field.
// omitempty leaves a zero field out of the hash. Fields of the hash that the
// struct does not know are kept as they are; a field that is missing reads as
// zero. [Remove] deletes the key.
//
// HashOf panics, with an [ErrInvalid] that says why, if T is not such a struct, or has a
// field that Scan would not read as HashOf writes it.
func HashOf[T any]() Codec[T] {
	fields, err := hashFields(reflect.TypeFor[T]())
	if err != nil {
		panic(err)
	}
	return hashCodec[T]{fields}
}

type hashCodec[T any] struct{ fields []hashField }

// hashField is one field of the struct, and its name in the hash.
type hashField struct {
	name      string
	index     int
	omitEmpty bool
}

func hashFields(typ reflect.Type) ([]hashField, error) {
	if typ.Kind() != reflect.Struct {
		return nil, fmt.Errorf("%w: a hash codec needs a struct, not %v", ErrInvalid, typ)
	}
	var fields []hashField
	taken := map[string]string{}
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, opts, _ := strings.Cut(f.Tag.Get("redis"), ",")
		if name == "-" || !f.IsExported() && !promotes(f) {
			continue
		}
		if name == "" {
			name = f.Name
		}
		if other, ok := taken[name]; ok {
			return nil, fmt.Errorf("%w: %v: fields %s and %s both use the hash field %q", ErrInvalid, typ, other, f.Name, name)
		}
		if !f.IsExported() || !hasTextForm(f.Type) {
			return nil, fmt.Errorf("%w: %v.%s: text cannot stand for a %v; tag it `redis:\"-\"`, "+
				"or give it MarshalText and UnmarshalText, and no ScanRedis", ErrInvalid, typ, f.Name, f.Type)
		}
		taken[name] = f.Name
		fields = append(fields, hashField{name: name, index: i, omitEmpty: opts == "omitempty"})
	}
	if len(fields) == 0 {
		return nil, fmt.Errorf("%w: %v has no exported field to store", ErrInvalid, typ)
	}
	return fields, nil
}

// promotes reports whether f is an embedded struct: its promoted fields would be
// lost silently if f were skipped as unexported.
func promotes(f reflect.StructField) bool {
	typ := f.Type
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	return f.Anonymous && typ.Kind() == reflect.Struct
}

// hasTextForm reports whether formatText and parseText handle a *typ, and go-redis' Scan
// reads it alike: by ScanRedis, UnmarshalText or UnmarshalBinary, whichever there is
// first, or else by its kind.
func hasTextForm(typ reflect.Type) bool {
	ptr := reflect.PointerTo(typ)
	to, from := ptr.Implements(reflect.TypeFor[encoding.TextMarshaler]()), ptr.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
	switch {
	case ptr.Implements(reflect.TypeFor[interface{ ScanRedis(string) error }]()):
		return false
	case to || from:
		return to && from
	case ptr.Implements(reflect.TypeFor[encoding.BinaryUnmarshaler]()), typ.Kind() == reflect.Uintptr:
		return false
	case typ == reflect.TypeFor[[]byte]():
		return true
	}
	_, err := scalar(reflect.New(typ).Interface())
	return err == nil
}

func (hashCodec[T]) Kind() Kind { return KindHash }

func (c hashCodec[T]) names() []string {
	names := make([]string, len(c.fields))
	for i, f := range c.fields {
		names[i] = f.name
	}
	return names
}

func (c hashCodec[T]) Decode(v Value, dst *T) error {
	rv := reflect.ValueOf(dst).Elem()
	for _, f := range c.fields {
		s, ok := v.Field(f.name)
		if !ok {
			continue
		}
		if err := parseText(s, rv.Field(f.index).Addr().Interface()); err != nil {
			return fmt.Errorf("field %q: %w", f.name, err)
		}
	}
	return nil
}

func (c hashCodec[T]) Encode(src *T, cur Value) (Value, error) {
	rv := reflect.ValueOf(src).Elem()
	var failed error
	next := cur.change(func(fields map[string]string) {
		for _, f := range c.fields {
			fv := rv.Field(f.index)
			if f.omitEmpty && fv.IsZero() {
				delete(fields, f.name)
				continue
			}
			s, err := formatText(fv.Addr().Interface())
			if err != nil {
				failed = fmt.Errorf("field %q: %w", f.name, err)
				return
			}
			fields[f.name] = s
		}
	}, c.names()...)
	if failed != nil {
		return Value{}, failed
	}
	if !next.Exists() {
		return Value{}, fmt.Errorf("%w: every field is empty and left out, and Redis has no hash without fields; return Remove to delete the key", ErrInvalid)
	}
	return next, nil
}
