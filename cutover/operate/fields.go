package operate

import (
	"context"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/cutover/internal/marker"
	"github.com/unwatch/unwatch/cutover/internal/protocol"
)

// FieldsExpire reports whether fields of the hash have an expiry in the store of the client (HEXPIRE). A copy of the
// hash by its fields and values loses it, so [Sweep] leaves such a hash where it is. It is false for a key
// that is no hash.
func FieldsExpire(ctx context.Context, client cutover.Commands, key string) (bool, error) {
	reply := marker.Client{Commands: client}.Do(ctx, []marker.Step{marker.Fields(key)})[0]
	return reply.Look.FieldExpiry, reply.Err
}

// findFieldExpiries finds the hashes with a field that has an expiry. None is in the value of a move.
func (m batches) findFieldExpiries(ctx context.Context, names []string, looks []marker.Reply, states []keyState) {
	for _, at := range []struct {
		side       protocol.Side
		was, found status
	}{{protocol.Old, atOld, withFieldExpiry}, {protocol.New, equal, changed}} {
		var steps []marker.Step
		var of []int
		for i, look := range looks {
			if states[i].is == at.was && (look.Look.Type == "hash" || look.Look.Value.Type == "hash") {
				steps, of = append(steps, marker.Fields(names[i])), append(of, i)
			}
		}
		if len(steps) == 0 {
			continue
		}
		for n, reply := range m.Clients[at.side].Do(ctx, steps) {
			switch i := of[n]; {
			case reply.Err != nil:
				states[i] = keyState{err: reply.Err}
			case reply.Look.FieldExpiry:
				states[i].is = at.found
			}
		}
	}
}
