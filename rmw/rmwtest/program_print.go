package rmwtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/unwatch/unwatch/internal/suite"
	"github.com/unwatch/unwatch/internal/twin"
	"github.com/unwatch/unwatch/rmw"
)

// brief prints a value on one line.
func brief(v rmw.Value) string {
	if !v.Exists() {
		return "no value"
	}
	if s := goValue(v); len(s) < 300 {
		return s
	}
	return v.String()
}

// goValue prints a value as Go.
func goValue(v rmw.Value) string {
	switch {
	case !v.Exists():
		return "rmw.Value{}"
	case v.Kind() == rmw.KindString:
		return "rmw.String(" + suite.GoText(v.Text()) + ")"
	case v.Len() > 50:
		return goWide(v)
	}
	var b strings.Builder
	b.WriteString("rmw.Hash(map[string]string{")
	for i, name := range slices.Sorted(maps.Keys(v.Fields())) {
		if i > 0 {
			b.WriteString(", ")
		}
		text, _ := v.Field(name)
		b.WriteString(suite.GoText(name) + ": " + suite.GoText(text))
	}
	return b.String() + "})"
}

// goWide prints a large hash as Go, by its difference to one of manyFields.
func goWide(v rmw.Value) string {
	all, common := twin.Values(rmw.KindHash)
	wide := all[common]
	var text strings.Builder
	fmt.Fprintf(&text, "manyFields(%d)", wide.Len())
	for name, value := range v.All() {
		if old, ok := wide.Field(name); !ok || old != value {
			text.WriteString(".With(" + suite.GoText(name) + ", " + suite.GoText(value) + ")")
		}
	}
	for name := range wide.All() {
		if _, ok := v.Field(name); !ok {
			text.WriteString(".Without(" + suite.GoText(name) + ")")
		}
	}
	return text.String()
}

// goDuration prints a duration as Go.
func goDuration(d time.Duration) string {
	if d == rmw.NoTTL {
		return "rmw.NoTTL"
	}
	return suite.GoDuration(d)
}

// goFault prints the fields of a fault as Go. direct has what its Do does.
func goFault(f Fault, direct *code) string {
	switch f.Kind {
	case NoFault:
		return "Do: func() {\n" + strings.Join(direct.all(), "\n") + "\n}"
	case Late:
		return "Kind: rmwtest.Late, Delay: " + goDuration(f.Delay)
	}
	return "Kind: rmwtest." + [...]string{"NoFault", "RequestLost", "ReplyLost", "Hang", "Late"}[f.Kind]
}

// goKey prints a key as Go.
func goKey(k rmw.Key) string {
	s := "rmw.Key{Name: " + suite.GoText(k.Name)
	if k.Kind == rmw.KindHash {
		s += ", Kind: rmw.KindHash"
	}
	if k.TTL != 0 {
		s += ", TTL: " + goDuration(k.TTL)
	}
	return s + "}"
}

// hides requires an error to hide values.
func (r *run) hides(err error, values ...rmw.Value) {
	if err == nil {
		return
	}
	text := err.Error()
	for _, v := range values {
		texts := []string{v.Text()}
		for _, f := range v.All() {
			texts = append(texts, f)
		}
		for _, s := range texts {
			if len(s) >= 5 && strings.Contains(text, s) && !strings.Contains(strings.Join(r.names, " "), s) {
				r.Errorf("step %d: the error shows a value: %v", r.index, err)
				return
			}
		}
	}
}
