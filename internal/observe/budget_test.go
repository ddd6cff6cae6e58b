package observe

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/unwatch/unwatch/rmw"
)

// counted is a budget whose values are the names of the operations. It counts how often each was built.
func counted(o Options) (b *budget[string], built map[string]int) {
	built = map[string]int{}
	return newBudget(o, func(operation string) string { built[operation]++; return operation }), built
}

func TestBudgetKeepsTheFirstOperations(t *testing.T) {
	b, built := counted(Options{MaxOperations: 3})
	for range 2 {
		for i := range 10_000 {
			want := strconv.Itoa(i)
			if i >= 3 {
				want = Overflow
			}
			assert.Equal(t, want, b.get(label{operation: strconv.Itoa(i)}))
		}
	}
	assert.Empty(t, b.get(label{}), "a call without a name has a place of its own")
	assert.Equal(t, map[string]int{"": 1, "0": 1, "1": 1, "2": 1, Overflow: 1}, built)
	assert.Len(t, *b.kept.Load(), 4)
}

func TestBudgetOf32ByDefault(t *testing.T) {
	for _, most := range []int{0, -1} {
		b, built := counted(Options{MaxOperations: most})
		for i := range 10_000 {
			b.get(label{key: "room", operation: strconv.Itoa(i)})
		}
		assert.Len(t, built, 34, "with the call without a name, and the overflow")
	}
}

// A full budget costs no memory, whatever the operations are.
func TestOverflowAllocatesNothing(t *testing.T) {
	b, _ := counted(Options{MaxOperations: 1})
	b.get(label{operation: "first"})
	names := make([]string, 1000)
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	n := 0
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		n++
		b.get(label{key: "room", operation: names[n]})
	}))
}

// A listed operation is found by every way to name it, and has a place whatever comes first.
func TestListedOperations(t *testing.T) {
	b, built := counted(Options{Operations: []string{"room/join", "add", "/x", "y/", "\xff"}, MaxOperations: 6})
	assert.Equal(t, map[string]int{"": 1, "room/join": 1, "add": 1, "/x": 1, "y/": 1, "\uFFFD": 1}, built)
	for i := range 100 {
		b.get(label{operation: strconv.Itoa(i)})
	}
	for l, want := range map[label]string{
		{"room", "join"}: "room/join", {"", "room/join"}: "room/join", {"room/join", ""}: "room/join",
		{"", "add"}: "add", {"add", ""}: "add", {"", "\xff"}: "\uFFFD", {"", "0"}: "0",
		{"", "1"}: Overflow, {"", "x"}: Overflow, {"y", ""}: Overflow, {"", "join"}: Overflow,
	} {
		assert.Equal(t, want, b.get(l), "%q", l)
	}
	full, _ := counted(Options{Operations: []string{"a", "b"}, MaxOperations: 1})
	assert.Equal(t, "b", full.get(label{operation: "b"}))
	assert.Equal(t, Overflow, full.get(label{operation: "c"}))
}

func TestBudgetIsSafeForConcurrentUse(t *testing.T) {
	const most, goroutines, names = 10, 8, 200
	b, built := counted(Options{MaxOperations: most})
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			for i := range names {
				name := strconv.Itoa((i + g*names/goroutines) % names)
				if got := b.get(label{operation: name}); got != name && got != Overflow {
					t.Errorf("%q is %q", name, got)
				}
			}
		})
	}
	all.Wait()
	assert.Len(t, built, most+2)
	for name, n := range built {
		assert.Equal(t, 1, n, name)
	}
}

func TestOperationIsValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bytes := rapid.SliceOf(rapid.Byte())
		key, operation := string(bytes.Draw(t, "label")), string(bytes.Draw(t, "operation"))
		name := Operation(rmw.WithOperation(t.Context(), operation), rmw.Key{Label: key})
		if !utf8.ValidString(name) {
			t.Fatalf("%q is not UTF-8", name)
		}
		shown := func(text string) bool {
			return utf8.ValidString(text) && !strings.ContainsFunc(text, func(c rune) bool { return c != '\n' && !unicode.IsGraphic(c) })
		}
		switch {
		case !shown(name), key == "" && shown(operation) && name != operation, operation == "" && shown(key) && name != key:
			t.Fatalf("%q", name)
		}
	})
	assert.Equal(t, "room/join", Operation(rmw.WithOperation(t.Context(), "join"), rmw.Key{Label: "room"}))
}

// A name of any text and length is a label that exporters and terminals take, and that stays short.
func TestValid(t *testing.T) {
	for name, want := range map[string]string{
		"room/join": "room/join", "räum\n茶": "räum\n茶", "a\xff\xfeb": "a\uFFFDb", "a\x1b\u009b\u202e\u2028b": "a\uFFFD\uFFFD\uFFFD\uFFFDb",
		strings.Repeat("k", 64<<10): strings.Repeat("k", 99) + ".." + strings.Repeat("k", 99),
	} {
		assert.Equal(t, want, Valid(name))
	}
	assert.Zero(t, testing.AllocsPerRun(10, func() { Valid("room/join") }))
}
