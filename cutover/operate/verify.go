package operate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/cutover/internal/mover"
	"github.com/unwatch/unwatch/cutover/internal/protocol"
	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// Verify visits each key of the old store once and says whether its states in the two stores are
// those of a move. It writes nothing, except that it ends an update of several keys that has sealed a key, and waits for it
// up to a second before. It may run beside updates and sweeps: a state that seems wrong counts if two more looks at the key, some
// milliseconds apart, find it wrong as well.
//
// Verify scans the old store, and then SweepConfig.NewMasters for keys that are Unmarked or Leftover. A key
// that has lost its marker and was deleted since is in neither.
// Verify ends as [Sweep] does, and its Report is valid beside an error.
func Verify(ctx context.Context, store *cutover.Store, cfg VerifyConfig) (Report, error) {
	return of(store).verify(ctx, cfg)
}

func (s operator) verify(ctx context.Context, cfg VerifyConfig) (Report, error) {
	stage, err := s.Stage(ctx)
	if err != nil {
		return Report{}, redisx.Fail("cutover", "verify", rmw.Key{}, 0, err)
	}
	report := Report{Scanned: s.scanned(stage, cfg)}
	away := newOutage(cfg, &report.Scanned)
	err = s.scan(ctx, "verify", protocol.Old, cfg, away, &report.Scanned, func(ctx context.Context, keys []rmw.Key, batch int) error {
		return s.verifyBatches(ctx, namesOf(keys), batch, away, &report, func(name string, st keyState) {
			if st.is == leftover { // SCAN returned it, so it was in the old store a moment ago
				st.is = absent
			}
			report.put(name, st)
		})
	})
	if err == nil && len(cfg.NewMasters) > 0 {
		err = s.verifyNew(ctx, stage, cfg, away, &report, s.mover.absentInOld)
	}
	if last, lastErr := s.Stage(ctx); err == nil && (lastErr != nil || last.Epoch != stage.Epoch) {
		report.Epoch = 0
	}
	return report, err
}

// verifyNew adds the keys of the new store that a move has not put there, among the names that which
// selects. At Complete every process creates keys there.
func (s operator) verifyNew(ctx context.Context, stage mover.Stage, cfg VerifyConfig, away *outage, report *Report,
	which func(context.Context, []string) []string,
) error {
	return s.scan(ctx, "verify", protocol.New, cfg, away, &report.Scanned, func(ctx context.Context, keys []rmw.Key, batch int) error {
		names, err := mover.Await(ctx, s.Gate, func(ctx context.Context) []string { return which(ctx, namesOf(keys)) })
		if err != nil || len(names) == 0 {
			return err
		}
		return s.verifyBatches(ctx, names, batch, away, report, func(name string, st keyState) {
			if slices.Contains([]status{twoHomes, leftover, unanswered}, st.is) || st.is == noMarker && !stage.Complete {
				report.put(name, st)
			}
		})
	})
}

func namesOf(keys []rmw.Key) []string {
	return mapped(keys, func(key rmw.Key) string { return key.Name })
}

// absentInOld returns the names that the old store does not have, or for which it does not answer.
func (m batches) absentInOld(ctx context.Context, names []string) (absent []string) {
	kinds, _ := m.types(ctx, protocol.Old, names)
	for i, kind := range kinds {
		if kind == "" || kind == "none" {
			absent = append(absent, names[i])
		}
	}
	return absent
}

// types asks a store for the TYPE of each key. It is "", with an error, if the store does not answer.
func (m batches) types(ctx context.Context, side protocol.Side, names []string) ([]string, []error) {
	replies := m.ask(ctx, side, names, nil, func(p redis.Pipeliner, i int) redis.Cmder { return p.Type(ctx, names[i]) })
	return mapped(replies, func(reply redis.Cmder) string { return reply.(*redis.StatusCmd).Val() }), mapped(replies, redis.Cmder.Err)
}

// states returns the state of each key. It looks again at the keys for which a store was away.
func (s operator) states(ctx context.Context, names []string, batch int, away *outage) ([]keyState, error) {
	states := make([]keyState, len(names))
	left := make([]int, len(names))
	for i := range left {
		left[i] = i
	}
	for {
		some := mapped(left, func(i int) string { return names[i] })
		found, err := mover.Await(ctx, s.Gate, func(ctx context.Context) []keyState {
			found := make([]keyState, len(some))
			inLanes(len(some), batch, func(from, to int) { copy(found[from:to], s.mover.examine(ctx, some[from:to])) })
			return found
		})
		if err != nil {
			return nil, err
		}
		var gone []int
		for n, i := range left {
			if states[i] = found[n]; redisx.IsAway(found[n].err) {
				gone = append(gone, i)
			}
		}
		if len(gone) == 0 {
			away.ended()
			return states, nil
		}
		if !away.another(ctx, states[gone[0]].err) {
			return states, ctx.Err()
		}
		left = gone
	}
}

// verifyBatches calls add with the state of each key.
func (s operator) verifyBatches(ctx context.Context, names []string, batch int, away *outage, report *Report,
	add func(string, keyState),
) error {
	states, err := s.states(ctx, names, batch, away)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(states, func(st keyState) bool {
		return st.is != unanswered || ofMark(st.err) // which is an answer
	}) {
		for i, st := range states {
			add(names[i], st)
		}
		return fmt.Errorf("all %d keys of a batch failed, the last one: %w", len(names), report.Cause)
	}
	pause := rmw.Backoff{Base: 2 * time.Millisecond, Max: 20 * time.Millisecond}
	for i, st := range states {
		for again := 1; st.wrong(); {
			if !away.another(ctx, st.err) {
				if again > 2 {
					break
				}
				if err := redisx.Sleep(ctx, pause.Delay(again, rand.Float64())); err != nil {
					return err
				}
				again++
			}
			one, err := mover.Await(ctx, s.Gate, func(ctx context.Context) []keyState { return s.mover.examine(ctx, names[i:i+1]) })
			if err != nil {
				return err
			}
			st = one[0]
		}
		add(names[i], st)
	}
	return nil
}
