package operate

import (
	"context"
	"time"

	"github.com/unwatch/unwatch/cutover/internal/mover"
	"github.com/unwatch/unwatch/cutover/internal/protocol"
	"github.com/unwatch/unwatch/rmw"
)

// free moves the keys that have a marker in the new store, as far as the stage moves them forward, and ends the updates of
// several keys that have sealed one there. Names are those of the new store. A key with a value in the old store moves with it.
func (s operator) free(ctx context.Context, stage mover.Stage, keys []rmw.Key, batch int, away *outage, pass *Pass) error {
	var items []*item
	for _, key := range keys {
		it := &item{key: key.Name}
		if g := stage.Goal(key); g.Complete || g.Moves && g.To == protocol.New {
			it.goal = mover.Goal{Moves: true, To: protocol.New, Creates: true}
		}
		items = append(items, it)
	}
	if _, err := s.inPipelines(ctx, items, batch, away, s.mover.free); err != nil {
		return err
	}
	freed := Pass{Scanned: Scanned{most: pass.most}}
	err := s.finishAll(ctx, items, away, &freed)
	pass.Freed += freed.Moved + freed.Completed
	for _, name := range freed.Failed.Names {
		pass.add(&pass.Failed, name)
	}
	pass.Failed.Count += freed.Failed.Count - len(freed.Failed.Names)
	if freed.Cause != nil {
		pass.Cause = freed.Cause
	}
	return err
}

// free moves keys into the markers that they have in the new store. A key without a marker is there.
func (m batches) free(ctx context.Context, items []*item) []time.Duration {
	var marked, away []*item
	kinds, errs := m.types(ctx, protocol.New, keysOf(items))
	for i, kind := range kinds {
		items[i].err = errs[i]
		switch kind {
		case "": // unexpected
		case "list":
			marked = append(marked, items[i])
		default:
			items[i].found = there
		}
	}
	for i, new := range m.looks(ctx, protocol.New, keysOf(marked), false) {
		it := marked[i]
		it.err = new.Err
		switch {
		case new.Err != nil:
		case new.Look.Seal != nil: // the pass over the old store moves the key
			it.goal = mover.Goal{}
		case new.Look.Kind == protocol.Open || !it.goal.Moves: // a list that is no marker, or the marker is gone
			it.found = there
		case new.Look.Kind == protocol.Away:
			it.into = new.Look.Nonce
			away = append(away, it)
		}
	}
	return m.carry(ctx, protocol.Old, away)
}
