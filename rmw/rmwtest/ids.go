package rmwtest

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/unwatch/unwatch/rmw"
)

// The suite counts by ids, not by a counter: a set of ids tells a lost update
// from one that was applied twice, and which one it was.

// addID returns an UpdateFunc that appends id: to a comma-separated list in a
// string, or as one more field, which counts how often it was added.
func addID(id string) rmw.UpdateFunc {
	return func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		if cur.Exists() && cur.Kind() == rmw.KindHash {
			was, _ := cur.Field(id)
			return cur.With(id, was+"x"), nil
		}
		return rmw.String(cur.Text() + id + ","), nil
	}
}

// addField is addID for a hash that may not exist yet.
func addField(id string) rmw.UpdateFunc {
	return func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		was, _ := cur.Field(id)
		return cur.With(id, was+"x"), nil
	}
}

// adder returns the one for kind.
func adder(kind rmw.Kind, id string) rmw.UpdateFunc {
	if kind == rmw.KindHash {
		return addField(id)
	}
	return addID(id)
}

// ids returns how often each id stands in v.
func ids(v rmw.Value) map[string]int {
	n := map[string]int{}
	for id := range strings.SplitSeq(v.Text(), ",") {
		if id != "" {
			n[id]++
		}
	}
	for id, times := range v.All() {
		n[id] += len(times)
	}
	return n
}

// wantIDs requires each acknowledged id to be stored exactly once, and no other
// but those in maybe, at most once.
func (c *check) wantIDs(key rmw.Key, acked []string, maybe ...string) {
	v, _ := c.stored(key)
	got := ids(v)
	lost, twice := 0, 0
	for _, id := range acked {
		switch n := got[id]; {
		case n == 0:
			lost++
		case n > 1:
			twice++
		}
		delete(got, id)
	}
	for _, id := range maybe {
		if got[id] > 1 {
			twice++
		}
		delete(got, id)
	}
	if lost > 0 || twice > 0 {
		c.Errorf("of %d acknowledged updates %d are lost, %d applied twice", len(acked), lost, twice)
	}
	if len(got) > 0 {
		c.Errorf("stored although Update said that nothing was written: %q", slices.Sorted(maps.Keys(got)))
	}
}
