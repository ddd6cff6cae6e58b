package rmwtest

import (
	"encoding/json"
	"hash/crc32"
	"strconv"
	"strings"

	"github.com/unwatch/unwatch/rmw"
)

// confuses reports whether the guard takes now for was.
func (f *faulty) confuses(key rmw.Key, was, now rmw.Value) bool {
	if f.is("g09") && now.Exists() && now.Kind() != key.Kind {
		return true
	}
	if !was.Exists() || !now.Exists() || was.Kind() != now.Kind() {
		return false
	}
	a, b := was.Text(), now.Text()
	switch {
	case was.Kind() == rmw.KindHash && f.is("g05"):
		return withoutEmpty(was).Equal(withoutEmpty(now))
	case was.Kind() == rmw.KindHash && f.is("g08"):
		for name, text := range was.All() {
			if have, ok := now.Field(name); !ok || have != text {
				return false
			}
		}
		return true
	case was.Kind() == rmw.KindHash:
		return false
	case f.is("g01"):
		return strings.TrimSpace(a) == strings.TrimSpace(b)
	case f.is("g02"):
		x, errX := strconv.ParseFloat(a, 64)
		y, errY := strconv.ParseFloat(b, 64)
		return errX == nil && errY == nil && x == y
	case f.is("g03"):
		x, _, _ := strings.Cut(a, "\x00")
		y, _, _ := strings.Cut(b, "\x00")
		return x == y
	case f.is("g04"):
		return strings.ToValidUTF8(a, "?") == strings.ToValidUTF8(b, "?")
	case f.is("g10"):
		return crc32.ChecksumIEEE([]byte(a)) == crc32.ChecksumIEEE([]byte(b))
	case f.is("g11"):
		n := min(len(a), 16)
		return len(a) == len(b) && a[:n] == b[:n] && a[len(a)-n:] == b[len(b)-n:]
	}
	return false
}

func withoutEmpty(v rmw.Value) rmw.Value {
	for name, text := range v.All() {
		if text == "" {
			v = v.Without(name)
		}
	}
	return v
}

// changed is the value as the flaw stores it.
func (f *faulty) changed(v rmw.Value) rmw.Value {
	s := v.Text()
	switch {
	case !v.Exists():
	case f.is("h01") && v.Len() > 4000:
		fields := map[string]string{}
		for name, text := range v.All() {
			if len(fields) < 4000 {
				fields[name] = text
			}
		}
		return rmw.Hash(fields)
	case v.Kind() == rmw.KindHash:
	case f.is("v01"):
		return rmw.String(strings.TrimSuffix(s, "\n"))
	case f.is("v02"):
		var object map[string]any
		if json.Unmarshal([]byte(s), &object) == nil && object != nil {
			b, _ := json.Marshal(object)
			return rmw.String(string(b))
		}
	case f.is("v03"):
		return rmw.String(strings.ReplaceAll(s, "e\u0301", "\u00e9"))
	case f.is("v05"):
		return rmw.String(strings.TrimPrefix(s, "\ufeff"))
	}
	return v
}
