package observe

import (
	"context"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"github.com/unwatch/unwatch/internal/wrap"
	"github.com/unwatch/unwatch/rmw"
)

// Options say which operations have series of their own.
type Options struct {
	// Operations have series from the start. They count against MaxOperations.
	Operations []string
	// MaxOperations is how many operations have series of their own; further ones are
	// [Overflow]. 0 or less: 32.
	MaxOperations int
}

// Overflow is the operation of calls beyond the budget.
const Overflow = "other"

// label names an operation: the Label of a Key, and the name of [rmw.WithOperation].
type label struct{ key, operation string }

// labelOf names the operation of a call.
func labelOf(ctx context.Context, key rmw.Key) label { return label{key.Label, rmw.OperationOf(ctx)} }

// Operation returns the operation of a call as an attribute has it, without regard to any budget.
func Operation(ctx context.Context, key rmw.Key) string { return labelOf(ctx, key).String() }

// String joins both names by a slash, as reports of the shadow do, and makes them [Valid].
func (l label) String() string {
	name := l.key + l.operation
	if l.key != "" && l.operation != "" {
		name = l.key + "/" + l.operation
	}
	return Valid(name)
}

// longest is the number of characters of a name.
const longest = 200

// Valid replaces bytes that are not UTF-8, which no exporter accepts, and characters that are not
// printable, but for line ends, which exporters escape. A long name loses its middle: each scrape repeats it in every series.
func Valid(name string) string {
	hidden := func(c rune) bool { return c != '\n' && !unicode.IsGraphic(c) }
	if len(name) <= longest && utf8.ValidString(name) && !strings.ContainsFunc(name, hidden) {
		return name // without an allocation
	}
	return strings.Map(func(c rune) rune {
		if hidden(c) {
			return unicode.ReplacementChar
		}
		return c
	}, wrap.Shorten(strings.ToValidUTF8(name, "\uFFFD"), longest))
}

// budget holds a value for each of the first operations, and one for all others. It never forgets an
// operation, so its size is bounded by Options.MaxOperations. It is safe for concurrent use, and
// takes no mutex for an operation that it has seen, nor once it is full.
type budget[V any] struct {
	build func(operation string) V
	other func() V
	limit int // of kept
	mu    sync.Mutex
	kept  atomic.Pointer[map[label]V] // replaced, never changed
}

// newBudget calls build for each listed operation and for a call without a name, then once for each
// operation that is seen first.
func newBudget[V any](o Options, build func(operation string) V) *budget[V] {
	b := &budget[V]{build: build, other: sync.OnceValue(func() V { return build(Overflow) })}
	kept := map[label]V{{}: build("")}
	for _, name := range o.Operations {
		v := build(Valid(name))
		kept[label{key: name}], kept[label{operation: name}] = v, v
		for i := 1; i < len(name)-1; i++ {
			if name[i] == '/' {
				kept[label{name[:i], name[i+1:]}] = v
			}
		}
	}
	most := o.MaxOperations
	if most <= 0 {
		most = 32
	}
	b.limit = len(kept) + max(0, most-len(o.Operations))
	b.kept.Store(&kept)
	return b
}

// get returns the value of an operation.
func (b *budget[V]) get(l label) V {
	kept := *b.kept.Load()
	if v, ok := kept[l]; ok {
		return v
	}
	if len(kept) >= b.limit {
		return b.other()
	}
	return b.keep(label{strings.Clone(l.key), strings.Clone(l.operation)})
}

func (b *budget[V]) keep(l label) V {
	b.mu.Lock()
	defer b.mu.Unlock()
	kept := *b.kept.Load()
	if v, ok := kept[l]; ok {
		return v
	}
	if len(kept) >= b.limit {
		return b.other()
	}
	v := b.build(l.String())
	grown := maps.Clone(kept)
	grown[l] = v
	b.kept.Store(&grown)
	return v
}
