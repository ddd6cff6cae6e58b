package lockupdate

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// commit commits the group, or verifies it, if it comes to nothing. Meanwhile the
// next one forms.
func (t *tenure) commit() {
	t.mu.Lock()
	g := t.group
	t.group, t.flying = newGroup(g.value), true
	ask := t.turns > 0 && t.mustAsk()
	t.turns++
	t.advance()
	asOf := t.asOf
	t.mu.Unlock()

	sent := time.Now()
	ctx := context.Background()
	if len(g.members) == 1 {
		ctx = context.WithoutCancel(g.members[0].ctx)
	}
	stored, now, err := true, rmw.Value{}, error(nil)
	switch {
	case g.changes():
		stored, now, err = t.write(ctx, &g, ask)
		if stored && !t.writeOf(&g).whole() {
			sent = time.Time{} // what was not read may be older than this
		}
	case g.knownSince(asOf):
		sent = asOf
	default:
		if now, err = t.Store.read(ctx, t.key); err != nil || !now.Equal(g.base) {
			stored = false
		} else {
			now = rmw.Value{}
		}
	}
	t.settle(g, sent, stored, now, err)
	t.tell(&g, err, stored)
	if len(g.members) > 1 {
		breathe()
	}
}

// tell notes what has become of a group.
func (t *tenure) tell(g *group, err error, stored bool) {
	switch {
	case stored && g.writes > 1:
		t.note(Event{Kind: EventCombined, Lock: t.lock, N: g.writes})
	case !stored && err == nil:
		t.note(Event{Kind: EventConflicted, Lock: t.lock, N: len(g.members)})
	}
}

// settle answers a group, or has it run again on what the key holds now.
func (t *tenure) settle(g group, sent time.Time, stored bool, now rmw.Value, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flying = false
	t.group.began = time.Now() // until now it could not have been committed
	if stored {
		t.asOf = sent
		if now.Exists() {
			t.rebase(&g, now)
		}
		for _, u := range g.members {
			u.succeed()
		}
		return
	}
	// What has been built on the group falls with it.
	if t.running != nil {
		t.stale = true
	}
	redo := slices.Concat(g.members, t.group.members)
	switch {
	case err == nil:
		t.load(t.key, now, sent)
	case errors.Is(err, errTooLarge) && len(g.members) > 1:
		t.solo = true
		t.key = rmw.Key{}
	case t.unreached(err): // nothing was sent; the read before the next turn waits
		t.key = rmw.Key{}
	default:
		redo = slices.Concat(g.fail(err), t.group.members)
		t.key = rmw.Key{}
	}
	t.group.members = nil
	t.again(redo)
}

// rebase has a group, and what builds on it, go by what the key held when the group was
// committed. What has been built on it already keeps its base, for its own commit to
// compare, and cannot be taken for what is stored.
func (t *tenure) rebase(g *group, held rmw.Value) {
	g.rebase(held)
	if t.running == nil && len(t.group.members) == 0 {
		t.group = newGroup(g.value)
	} else {
		t.asOf = time.Time{}
	}
}

// fail answers those members whose update failed with the commit, and returns the
// others: what they have seen may never have been stored.
func (g *group) fail(err error) (others []*update) {
	for _, u := range g.members {
		if u.wrote || !g.changes() {
			u.answer(u.result(), u.fail("commit", redisx.Blame(context.WithoutCancel(u.ctx), err)))
		} else {
			others = append(others, u)
		}
	}
	return others
}
