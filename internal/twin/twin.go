// Package twin has names and values of keys that bad code changes, or confuses with each other: equal but for one byte, case,
// space, NUL, BOM, Unicode form, a float's precision, a checksum, the end of a long text, or an empty field.
package twin

import (
	"cmp"
	"hash/crc32"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// Names returns pairs of names that a Store or a Locker may confuse.
func Names() [][2]string {
	long := strings.Repeat("n", 600)
	huge := strings.Repeat("n", 4000)
	return [][2]string{
		{"a", "b"}, {"a", "A"}, {"a", "a "}, {"a", "a\n"}, {"a", "a\x00b"}, {"a\x00b", "a\x00c"}, {"1", "01"}, {"1", "1.0"},
		{"\xff", "\xfe"}, {"\u00e9", "e\u0301"}, {"\ufeffa", "a"}, {"a:b", "a::b"}, {"a", "lock:a"}, {"a*", "a?"},
		{"a b", "a+b"}, {"a b", "a%20b"}, {"a/b", "a/./b"}, {"a\\b", "a/b"}, {"{a}b", "{a}c"}, {"a", "{a}"}, {"a_b", "a-b"},
		{long + "1", long + "2"}, {huge + "1", huge + "2"},
		{"plumless", "buckeroo"}, {"declinate", "macallums"}, {"Aa", "BB"}, // CRC-32, FNV-1a of 32 bits, Java's hashCode
		{"lock9069235", "lock7632906"}, {"lock4820861", "lock8673346"}, // PostgreSQL's hashtext, FNV-1 of 32 bits
		{"lock8079586", "lock8831891"}, {"lock2246734", "lock1547602"}, // CRC-16 as in Redis Cluster, MurmurHash3 of 32 bits
	}
}

// Values returns values that a Store may change, or confuse with others. Those with an index of at least common are large.
func Values(kind rmw.Kind) (all []rmw.Value, common int) {
	all = values()[kind]
	return all, len(all) - 1
}

var values = sync.OnceValue(func() [2][]rmw.Value {
	return [2][]rmw.Value{rmw.KindString: texts(), rmw.KindHash: hashes()}
})

func hashes() (all []rmw.Value) {
	wide := map[string]string{}
	for i := range 10_000 {
		wide[strconv.Itoa(i)] = "v"
	}
	for _, fields := range []map[string]string{
		{"f": "one"}, {"f": "one", "g": "two"}, {"f": ""}, {"f": "one", "g": ""}, {"": "one"}, {"f": "1", "F": "2"},
		{"f": "9007199254740993"}, {"\xff": "\xff"}, {"f": "a\x00b"}, {"f": "\ufeffx\n"}, {"f": strings.Repeat("v", 5000)},
		wide,
	} {
		all = append(all, rmw.Hash(fields))
	}
	return all
}

func texts() (all []rmw.Value) {
	for _, s := range []string{
		"one", "x", "", "x ", " x", "x\n", "1", "5", "1.0", "1e2", "-0", "9007199254740993", "2147483648", "a\x00b", "\xff",
		"\xff\xfe\x00", "\ufeffx", "\u00e9", "e\u0301", "\ufb01", "<a>&", "\u2028", "a%20b", `a\nb`, "\x1f\x8b\b",
		`{"b":1,"a":2}`, `{"a":1.0}`, `{"n":9007199254740993}`, "null", "nil", "true",
		"AbC", strings.Repeat("middle", 9), strings.Repeat("\xffm", 20), strings.Repeat("v", 1100), strings.Repeat("w", 5000),
		strings.Repeat("v", 16<<10), "x\r\n",
		strings.Repeat("v", 2<<20) + "x",
	} {
		all = append(all, rmw.String(s))
	}
	return all
}

// Of returns values other than v that a careless comparison takes for v. They have the kind; v has it, too, or is absent.
func Of(v rmw.Value, kind rmw.Kind) []rmw.Value {
	var all []rmw.Value
	if kind == rmw.KindHash {
		all = hashesLike(v)
	} else {
		for _, s := range textsLike(v) {
			all = append(all, rmw.String(s))
		}
	}
	return slices.DeleteFunc(all, v.Equal)
}

func textsLike(v rmw.Value) []string {
	if !v.Exists() {
		return []string{"", "null", "0"}
	}
	s := v.Text()
	if n := len(s); n > 1<<16 {
		return []string{s[:n-1] + "y", s[:n-9] + "y" + s[n-8:], s + "x"}
	}
	all := []string{
		s + "x", strings.ToUpper(s), strings.TrimSpace(s), s + " ", s + "\n",
		"\ufeff" + s, s + "\x00", strings.TrimPrefix(s, "\ufeff"), strings.ReplaceAll(s, "\ufb01", "fi"),
		strings.ReplaceAll(s, "\u00e9", "e\u0301"), strings.ToValidUTF8(s, "\ufffd"), strings.ReplaceAll(s, "\xff", "\xfe"),
	}
	if head, tail, ok := strings.Cut(s, "\x00"); ok {
		all = append(all, head+"\x00"+tail+"z", head+"\x00z")
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		all = append(all, strconv.FormatInt(n^1, 10), s+".0", "+"+s, "0"+s, strconv.FormatInt(n+1, 10))
	}
	switch s {
	case `{"b":1,"a":2}`:
		all = append(all, `{"a":2,"b":1}`)
	case `{"n":9007199254740993}`:
		all = append(all, `{"n":9007199254740992}`)
	case "a%20b":
		all = append(all, "a b")
	}
	if n := len(s); n > 0 {
		for _, i := range []int{n - 1, n / 2, 0} {
			all = append(all, s[:i]+string(s[i]^1)+s[i+1:])
		}
	}
	if len(s) >= 5 {
		all = append(all, sameCRC(s))
	}
	return all
}

// sameCRC returns a text with the length, the end and the CRC-32 of s.
func sameCRC(s string) string {
	b := []byte(s)
	b[0] ^= 1
	// CRC-32 is affine: each of the 32 bits of the next four bytes flips fixed bits of the sum.
	want := crc32.ChecksumIEEE([]byte(s)) ^ crc32.ChecksumIEEE(b)
	zero := crc32.ChecksumIEEE(make([]byte, len(b)))
	type row struct{ sum, bits uint32 }
	var basis []row
	for bit := range 32 {
		flip := make([]byte, len(b))
		flip[1+bit/8] = 1 << (bit % 8)
		r := row{crc32.ChecksumIEEE(flip) ^ zero, 1 << bit}
		for _, have := range basis {
			if r.sum^have.sum < r.sum {
				r.sum, r.bits = r.sum^have.sum, r.bits^have.bits
			}
		}
		if r.sum != 0 {
			basis = append(basis, r)
			slices.SortFunc(basis, func(a, b row) int { return cmp.Compare(b.sum, a.sum) })
		}
	}
	var bits uint32
	for _, have := range basis {
		if want^have.sum < want {
			want, bits = want^have.sum, bits^have.bits
		}
	}
	for i := range 4 {
		b[1+i] ^= byte(bits >> (8 * i))
	}
	return string(b)
}

func hashesLike(v rmw.Value) []rmw.Value {
	if !v.Exists() {
		return []rmw.Value{rmw.Hash(map[string]string{"": ""}), rmw.Hash(map[string]string{"f": ""})}
	}
	all := []rmw.Value{v.With("empty", ""), v.With("more", "x"), v.With("", "")}
	if v.Len() > 1000 {
		return append(all, v.With("7", "w"), v.Without("7"))
	}
	names := slices.Sorted(maps.Keys(v.Fields()))
	first, last := names[0], names[len(names)-1]
	one, _ := v.Field(first)
	two, _ := v.Field(last)
	if len(names) > 1 {
		all = append(all, v.Without(first), v.Without(last), v.WithFields(map[string]string{first: two, last: one}))
	}
	all = append(all, v.Without(first).With(first+"x", one))
	for _, text := range textsLike(rmw.String(one)) {
		all = append(all, v.With(first, text))
	}
	return append(all, v.With(last, two+"x"))
}

// TTLs returns expiries, of a key, a value or another writer, that bad code rounds, cuts or forgets.
func TTLs() []time.Duration {
	return []time.Duration{
		0, 0, 0, rmw.NoTTL, 3 * time.Second, 90500 * time.Millisecond, 40 * 24 * time.Hour, 1500 * time.Millisecond, 30 * time.Minute,
		1234 * time.Millisecond,
	}
}
