package proxycompat

import (
	"encoding"
	"fmt"
	"net"
	"reflect"
	"strconv"
	"time"
)

// wordOf returns an argument of a go-redis command as go-redis sends it (v9: proto.Writer). For a type that
// go-redis rejects, the result is unspecified.
func wordOf(arg any) string {
	switch v := arg.(type) {
	case nil:
		return ""
	case string:
		return v
	case []byte:
		return string(v)
	case int:
		return strconv.Itoa(v) // small integers do not allocate
	case int64:
		return strconv.FormatInt(v, 10)
	case bool:
		if v {
			return "1"
		}
		return "0"
	case time.Time:
		return v.Format(time.RFC3339Nano)
	case time.Duration:
		return strconv.FormatInt(v.Nanoseconds(), 10)
	case interface{ Peek() string }: // redisx.Word, which counts as sent once it is marshaled
		return v.Peek()
	case encoding.BinaryMarshaler:
		b, err := v.MarshalBinary()
		if err != nil {
			return ""
		}
		return string(b)
	case net.IP:
		return string(v)
	}
	switch rv := reflect.ValueOf(arg); rv.Kind() {
	case reflect.Pointer:
		if rv.IsNil() {
			return ""
		}
		return wordOf(rv.Elem().Interface())
	case reflect.Float32, reflect.Float64:
		return strconv.FormatFloat(rv.Float(), 'f', -1, 64)
	default:
		return fmt.Sprint(arg)
	}
}
