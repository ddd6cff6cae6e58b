package redisx

import "reflect"

// IsNil reports whether a client is nil, or a nil pointer in an interface, which would panic at its first
// use.
func IsNil(client any) bool {
	if client == nil {
		return true
	}
	v := reflect.ValueOf(client)
	return v.Kind() == reflect.Pointer && v.IsNil()
}
