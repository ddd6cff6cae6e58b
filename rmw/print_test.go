package rmw_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/driver"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// private is content that must not be printed. Its hexadecimal form must not be
// either; %d and %o of a string are not implemented by fmt and quote it.
const private = "s3cretContent"

// assertHidden fails if any printing of the content is in s.
func assertHidden(t *testing.T, s, how string) {
	t.Helper()
	for _, form := range []string{private, fmt.Sprintf("%x", private), fmt.Sprintf("%X", private), fmt.Sprintf("% x", private)} {
		if strings.Contains(s, form) {
			t.Errorf("%s shows the content: %s", how, s)
		}
	}
}

// hidden is what has private inside and shall not show it.
func hidden(t *testing.T) map[string]any {
	t.Helper()
	text := rmw.String(private)
	hash := rmw.Hash(map[string]string{"name": private, private: "value"}).WithTTL(time.Minute)
	key := rmw.Key{Name: "room:7", Label: "room"}
	result := rmw.Result{Before: text, After: hash, Written: true, Attempts: 1}
	m := rmwtest.NewMemory()
	require.NoError(t, m.Set(t.Context(), key.Name, text, rmw.NoTTL))
	_, _, decodeErr := rmw.NewTyped(m, rmw.Text[int]()).Get(t.Context(), key)
	require.Error(t, decodeErr)
	_, updateErr := m.Update(t.Context(), rmw.Key{Name: key.Name, Kind: rmw.KindHash},
		func(context.Context, rmw.Value) (rmw.Value, error) { return rmw.Value{}, nil })
	require.Error(t, updateErr)
	_, _, writeErr := driver.CheckWrite(key, rmw.Value{}, hash)
	require.Error(t, writeErr)
	return map[string]any{
		"string":           text,
		"hash":             hash,
		"pointer":          &text,
		"slice":            []rmw.Value{text, hash},
		"map":              map[string]rmw.Value{"k": hash},
		"any":              []any{text},
		"Result":           result,
		"*Result":          &result,
		"Event":            rmw.Event{Op: rmw.OpUpdate, Key: key, Result: result},
		"*Event":           &rmw.Event{Op: rmw.OpRead, Key: key, Result: result},
		"Key and Value":    struct{ K, V any }{key, hash},
		"unexported field": struct{ v, w rmw.Value }{text, hash},
		"unexported deep":  struct{ r struct{ vs []rmw.Value } }{struct{ vs []rmw.Value }{[]rmw.Value{text, hash}}},
		"decode error":     decodeErr,
		"CheckWrite error": writeErr,
		"Update error":     updateErr,
	}
}

func TestFmtNeverShowsContent(t *testing.T) {
	// The last ones make no sense for a Value; a typing error must not leak either.
	verbs := []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "% x", "%+q", "%30v", "%.3s", "%d", "%t", "%c", "%p", "%U", "%e"}
	for name, v := range hidden(t) {
		for _, verb := range verbs {
			assertHidden(t, fmt.Sprintf(verb, v), verb+" of "+name)
		}
		assertHidden(t, fmt.Sprintln(v), "Sprintln of "+name)
		assertHidden(t, fmt.Errorf("wrapped: %v", v).Error(), "Errorf of "+name)
	}
}

func TestSlogNeverShowsContent(t *testing.T) {
	handlers := map[string]func(io.Writer) slog.Handler{
		"text": func(w io.Writer) slog.Handler { return slog.NewTextHandler(w, nil) },
		"JSON": func(w io.Writer) slog.Handler { return slog.NewJSONHandler(w, nil) },
	}
	for handler, make := range handlers {
		for name, v := range hidden(t) {
			var out bytes.Buffer
			log := slog.New(make(&out))
			log.Info("m", "v", v)
			log.With("with", v).WithGroup("g").Info("m", slog.Group("h", slog.Any("v", v)), slog.Any("vs", []any{v, &v}))
			assertHidden(t, out.String(), handler+" handler of "+name)
			assert.Equal(t, 2, strings.Count(out.String(), "\n"), "a record is one line")
		}
	}
}

func TestPrintingShowsKindAndSize(t *testing.T) {
	hash := rmw.Hash(map[string]string{"ab": "cde"})
	for want, got := range map[string]string{
		"absent":                             fmt.Sprint(rmw.Value{}),
		"string(13 bytes)":                   fmt.Sprint(rmw.String(private)),
		"hash(1 fields, 5 bytes)":            fmt.Sprintf("%v", hash),
		`"hash(1 fields, 5 bytes)"`:          fmt.Sprintf("%q", hash),
		"rmw.Value(hash(1 fields, 5 bytes))": fmt.Sprintf("%#v", hash),
		"  absent":                           fmt.Sprintf("%8v", rmw.Value{}),
	} {
		assert.Equal(t, want, got)
	}
	var out bytes.Buffer
	slog.New(slog.NewTextHandler(&out, nil)).Info("m", "v", hash)
	assert.Contains(t, out.String(), `v="hash(1 fields, 5 bytes)"`)
}
