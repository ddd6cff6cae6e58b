package diff_test

import (
	"strings"
	"testing"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow/internal/diff"
)

// A session of about 300 bytes.
const session = `{"id":"s-7f3","state":"assigned","epoch":9007199254740993,"agent":{"id":"a-12","name":"Ann","skills":["de","en"]},` +
	`"visitor":{"id":"v-88","name":"Eve","locale":"de-DE"},"rating":0,"tags":["vip","billing"],"createdAt":1795300000000,` +
	`"updatedAt":1795300004321,"messages":42,"unread":{"a-12":0,"v-88":3},"closed":null}`

func BenchmarkCompare(b *testing.B) {
	c := compile(b, diff.Rules{Ignore: []string{"updatedAt"}, Sets: []string{"tags"}})
	_, fields, _ := strings.Cut(strings.TrimSuffix(session, "}"), ",")
	for _, bm := range []struct{ name, other string }{
		{"equal bytes", session},
		{"other order", "{" + fields + `,"id":"s-7f3"}`},
		{"different", strings.Replace(session, `"rating":0,`, "", 1)},
	} {
		x, y := rmw.String(session), rmw.Bytes([]byte(bm.other))
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.Compare(x, y)
			}
		})
	}
}

func BenchmarkDigest(b *testing.B) {
	c := compile(b, diff.Rules{Ignore: []string{"updatedAt"}, Sets: []string{"tags"}})
	v := rmw.String(session)
	b.ReportAllocs()
	for b.Loop() {
		c.Digest(v)
	}
}

func BenchmarkLargeSet(b *testing.B) {
	c := compile(b, diff.Rules{Sets: []string{"."}})
	x := "[" + strings.Repeat(session+",", 3_000)
	one, other := rmw.String(x+"1]"), rmw.String(x+"2]")
	b.SetBytes(int64(one.Size() + other.Size()))
	b.ReportAllocs()
	for b.Loop() {
		c.Compare(one, other)
	}
}
