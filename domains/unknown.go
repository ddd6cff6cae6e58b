package domains

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Unknown holds the members of a stored JSON object for which the struct has no field. A struct keeps them with
// a field of this type, an UnmarshalJSON that calls [Names.Unmarshal] and a MarshalJSON that calls
// [Names.Marshal].
type Unknown struct {
	members string // `"a":1,"b":[2]`: the inside of an object
}

// Field returns the JSON text of the member with that name. Of several it returns the last, as JSON decoders
// do.
func (u Unknown) Field(name string) (raw json.RawMessage, ok bool) {
	for quoted, value := range members([]byte("{" + u.members + "}")) {
		if unquote(quoted) == name {
			raw, ok = value, true
		}
	}
	return raw, ok
}

// Names holds the JSON names of a struct's fields.
type Names struct {
	known map[string]bool
}

// NamesOf returns the JSON names of the fields of struct T.
func NamesOf[T any]() Names {
	n := Names{known: map[string]bool{}}
	for _, f := range fieldsOf(reflect.TypeFor[T]()) {
		n.known[f.name] = true
	}
	return n
}

// Unmarshal decodes the object in data into dst, and the members without a field into unknown. dst points to a
// type without an UnmarshalJSON method:
//
//	func (m *Member) UnmarshalJSON(data []byte) error {
//		type plain Member
//		return memberNames.Unmarshal(data, (*plain)(m), &m.Unknown)
//	}
//
// A member whose name differs from a field's in case only is an error: encoding/json would decode it into that
// field, and Marshal would write it twice.
func (n Names) Unmarshal(data []byte, dst any, unknown *Unknown) error {
	if err := json.Unmarshal(data, dst); err != nil {
		return err
	}
	var rest []byte
	for quoted, raw := range members(data) {
		name := unquote(quoted)
		if n.known[name] {
			continue
		}
		for known := range n.known {
			if strings.EqualFold(known, name) {
				return &trouble{fmt.Sprintf("a field differs from %q in case only", known)}
			}
		}
		if rest != nil {
			rest = append(rest, ',')
		}
		rest = append(append(append(rest, quoted...), ':'), raw...)
	}
	unknown.members = string(rest)
	return nil
}

// Marshal encodes src, a value without a MarshalJSON method, with the unknown members at the end.
func (n Names) Marshal(src any, unknown Unknown) ([]byte, error) {
	b, err := json.Marshal(src)
	if err != nil || unknown.members == "" {
		return b, err
	}
	b = bytes.TrimSuffix(b, []byte("}"))
	if len(b) > len("{") {
		b = append(b, ',')
	}
	b = append(b, unknown.members...)
	return append(b, '}'), nil
}

// members iterates over the quoted names and the values of a valid JSON object. Any other JSON has no members.
func members(object []byte) func(yield func(quoted, raw []byte) bool) {
	return func(yield func(quoted, raw []byte) bool) {
		rest := skipSpace(object)
		if len(rest) == 0 || rest[0] != '{' {
			return
		}
		for rest = skipSpace(rest[1:]); len(rest) > 0 && rest[0] == '"'; rest = skipSpace(rest) {
			end := valueEnd(rest)
			quoted := rest[:end]
			rest = skipSpace(bytes.TrimPrefix(skipSpace(rest[end:]), []byte(":")))
			end = valueEnd(rest)
			if !yield(quoted, rest[:end]) {
				return
			}
			rest = skipSpace(bytes.TrimPrefix(skipSpace(rest[end:]), []byte(",")))
		}
	}
}

// unquote decodes a JSON string.
func unquote(quoted []byte) string {
	if len(quoted) >= 2 && bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	var s string
	_ = json.Unmarshal(quoted, &s) // valid, as the whole document is
	return s
}

func skipSpace(b []byte) []byte { return bytes.TrimLeft(b, " \t\r\n") }

// valueEnd returns the length of the JSON value that b begins with.
func valueEnd(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return min(i+1, len(b))
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
		}
	}
	return len(b)
}
