package lockupdate_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/rmw"
)

// book is what the callers of one key were told. A value is the list of the ids that
// were added; so each value that was ever stored is a beginning of what is stored at
// the end, or of what a delete took away.
type book struct {
	mu      sync.Mutex
	done    []entry
	never   []string // ids whose update was not written
	deleted []string // lists that an update took away
	perhaps []string // lists that an update with an unknown outcome may have taken away
	wrong   []string
	grows   bool // nothing is ever deleted
	floor   int  // how long the longest acknowledged list is
}

type entry struct{ id, before, after string }

// atLeast returns how long the list is by now, at least.
func (b *book) atLeast() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.floor
}

// enter notes how a call ended that began when the list was floor long.
func (b *book) enter(o *op, floor int, res rmw.Result, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before, after := listOf(res.Before), listOf(res.After)
	switch {
	case err == nil && b.grows && len(before) < floor:
		b.wrong = append(b.wrong, o.id+" did not see what was acknowledged before it began")
	case err == nil && o.what == "delete":
		if res.Written {
			b.deleted = append(b.deleted, before)
		}
	case err == nil && o.what == "keep":
		b.done = append(b.done, entry{before: before, after: after})
	case err == nil && o.what != "append":
		b.wrong = append(b.wrong, fmt.Sprintf("%s was acknowledged: %s", o.id, o.what))
	case err == nil:
		b.done = append(b.done, entry{o.id, before, after})
	case !errors.Is(err, rmw.ErrOutcomeUnknown):
		b.never = append(b.never, o.id)
	case o.what == "delete":
		b.perhaps = append(b.perhaps, listOf(o.given))
	case o.what == "keep", o.what == "abort", o.what == "misfit", o.what == "cancel":
		b.wrong = append(b.wrong, fmt.Sprintf("%s writes nothing, but its outcome is unknown: %v", o.id, err))
	}
	if err == nil {
		b.floor = max(b.floor, len(after))
	}
}

// audit holds it against what is stored at the end.
func (b *book) audit(final string) (wrong []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	wrong = b.wrong
	lists := append(slices.Clone(b.deleted), final)
	count := map[string]int{}
	for _, list := range lists {
		for id := range strings.SplitSeq(list, ",") {
			count[id]++
		}
	}
	delete(count, "")
	for id, n := range count {
		if n > 1 {
			wrong = append(wrong, id+" is there twice")
		}
	}
	for _, id := range b.never {
		if count[id] > 0 {
			wrong = append(wrong, id+" is there, but was said not to be")
		}
	}
	all := append(slices.Clone(lists), b.perhaps...)
	were := func(state string) bool {
		return slices.ContainsFunc(all, func(list string) bool { return strings.HasPrefix(list, state) })
	}
	for _, e := range b.done {
		switch {
		case e.id == "" && e.before != e.after, e.id != "" && e.after != e.before+e.id+",":
			wrong = append(wrong, e.id+" does not tell what it did")
		case !were(e.after):
			wrong = append(wrong, e.id+" was acknowledged on a value that never was, or that somebody overwrote")
		}
	}
	return wrong
}

// The control: the audit finds what it is for.
func TestTheBookIsAudited(t *testing.T) {
	for name, tc := range map[string]struct {
		book  *book
		final string
		wrong int
	}{
		"right":          {&book{done: []entry{{"a", "", "a,"}, {"b", "a,", "a,b,"}}}, "a,b,c,", 0},
		"deleted":        {&book{done: []entry{{"a", "", "a,"}}, deleted: []string{"a,"}}, "", 0},
		"perhaps":        {&book{done: []entry{{"a", "", "a,"}}, perhaps: []string{"a,"}}, "", 0},
		"lost":           {&book{done: []entry{{"a", "", "a,"}, {"b", "a,", "a,b,"}}}, "a,", 1},
		"twice":          {&book{done: []entry{{"a", "", "a,"}}}, "a,a,", 1},
		"twice, deleted": {&book{deleted: []string{"a,"}}, "a,", 1},
		"said not to be": {&book{never: []string{"a"}}, "a,", 1},
		"another order":  {&book{done: []entry{{"b", "", "b,"}}}, "a,b,", 1},
		"never was":      {&book{done: []entry{{"", "b,", "b,"}}}, "a,", 1},
		"false result":   {&book{done: []entry{{"b", "", "a,b,"}}}, "a,b,", 1},
	} {
		assert.Len(t, tc.book.audit(tc.final), tc.wrong, name)
	}
}
