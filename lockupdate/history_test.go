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

// history records the results of all updates of one key. Every update appends its id to a list. So
// every value that was ever stored is a prefix of the final value, or of a deleted one.
type history struct {
	mu           sync.Mutex
	done         []entry
	notStored    []string // ids of updates that failed
	deleted      []string // lists that an update deleted
	maybeDeleted []string // lists that an update with an unknown outcome may have deleted
	wrong        []string
	appendOnly   bool // no update deletes
	minLen       int  // length of the longest acknowledged list
}

type entry struct{ id, before, after string }

// acknowledgedLen returns the length of the longest acknowledged list.
func (h *history) acknowledgedLen() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.minLen
}

// record adds the result of o, which began when the list had at least minLen bytes.
func (h *history) record(o *op, minLen int, res rmw.Result, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before, after := listOf(res.Before), listOf(res.After)
	switch {
	case err == nil && h.appendOnly && len(before) < minLen:
		h.wrong = append(h.wrong, o.id+" did not see an update that was acknowledged before it began")
	case err == nil && o.action == "delete":
		if res.Written {
			h.deleted = append(h.deleted, before)
		}
	case err == nil && o.action == "keep":
		h.done = append(h.done, entry{before: before, after: after})
	case err == nil && o.action != "append":
		h.wrong = append(h.wrong, fmt.Sprintf("%s was acknowledged: %s", o.id, o.action))
	case err == nil:
		h.done = append(h.done, entry{o.id, before, after})
	case !errors.Is(err, rmw.ErrOutcomeUnknown):
		h.notStored = append(h.notStored, o.id)
	case o.action == "delete":
		h.maybeDeleted = append(h.maybeDeleted, listOf(o.given))
	case o.action == "keep", o.action == "abort", o.action == "wrong kind", o.action == "cancel":
		h.wrong = append(h.wrong, fmt.Sprintf("%s writes nothing, but its outcome is unknown: %v", o.id, err))
	}
	if err == nil {
		h.minLen = max(h.minLen, len(after))
	}
}

// audit compares the results with the final value, and returns the violations.
func (h *history) audit(final string) (wrong []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	wrong = h.wrong
	lists := append(slices.Clone(h.deleted), final)
	count := map[string]int{}
	for _, list := range lists {
		for id := range strings.SplitSeq(list, ",") {
			count[id]++
		}
	}
	delete(count, "")
	for id, n := range count {
		if n > 1 {
			wrong = append(wrong, id+" is stored twice")
		}
	}
	for _, id := range h.notStored {
		if count[id] > 0 {
			wrong = append(wrong, id+" is stored, but its update failed")
		}
	}
	all := append(slices.Clone(lists), h.maybeDeleted...)
	existed := func(state string) bool {
		return slices.ContainsFunc(all, func(list string) bool { return strings.HasPrefix(list, state) })
	}
	for _, e := range h.done {
		switch {
		case e.id == "" && e.before != e.after, e.id != "" && e.after != e.before+e.id+",":
			wrong = append(wrong, e.id+" has a result that its fn cannot have returned")
		case !existed(e.after):
			wrong = append(wrong, e.id+" was acknowledged on a value that was never stored, or that was overwritten")
		}
	}
	return wrong
}

// Negative control of the audit.
func TestHistoryAuditFindsViolations(t *testing.T) {
	for name, tc := range map[string]struct {
		history *history
		final   string
		wrong   int
	}{
		"right":          {&history{done: []entry{{"a", "", "a,"}, {"b", "a,", "a,b,"}}}, "a,b,c,", 0},
		"deleted":        {&history{done: []entry{{"a", "", "a,"}}, deleted: []string{"a,"}}, "", 0},
		"maybe deleted":  {&history{done: []entry{{"a", "", "a,"}}, maybeDeleted: []string{"a,"}}, "", 0},
		"lost":           {&history{done: []entry{{"a", "", "a,"}, {"b", "a,", "a,b,"}}}, "a,", 1},
		"twice":          {&history{done: []entry{{"a", "", "a,"}}}, "a,a,", 1},
		"twice, deleted": {&history{deleted: []string{"a,"}}, "a,", 1},
		"failed":         {&history{notStored: []string{"a"}}, "a,", 1},
		"another order":  {&history{done: []entry{{"b", "", "b,"}}}, "a,b,", 1},
		"never stored":   {&history{done: []entry{{"", "b,", "b,"}}}, "a,", 1},
		"false result":   {&history{done: []entry{{"b", "", "a,b,"}}}, "a,b,", 1},
	} {
		assert.Len(t, tc.history.audit(tc.final), tc.wrong, name)
	}
}

// ackLog collects acknowledged ids. It is safe for concurrent use.
type ackLog struct {
	mu  sync.Mutex
	ids []string
}

func (l *ackLog) add(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ids = append(l.ids, id)
}

// audit returns the number of acknowledged ids, and of those that are not in the stored list.
func (l *ackLog) audit(stored string) (acked, lost int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range l.ids {
		if !contains(stored, id) {
			lost++
		}
	}
	return len(l.ids), lost
}
