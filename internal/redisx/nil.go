package redisx

import "reflect"

// IsNil reports whether a client is nil, or a nil pointer in an interface, which
// would panic only when it is first used.
func IsNil(client any) bool {
	if client == nil {
		return true
	}
	v := reflect.ValueOf(client)
	return v.Kind() == reflect.Pointer && v.IsNil()
}
