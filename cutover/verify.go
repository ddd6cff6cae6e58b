package cutover

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/cutover/internal/marker"
	"github.com/unwatch/unwatch/cutover/internal/protocol"
	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// Verify visits each key of the old store once and says whether its states in the two stores are
// those of a move. It writes nothing. It may run beside updates and sweeps: a state that seems wrong
// counts if two more looks at the key, some milliseconds apart, find it wrong as well.
//
// Verify scans the old store, and then SweepConfig.NewMasters for keys that are Unmarked or Leftover. A key
// that has lost its marker and was deleted since is in neither.
// Verify ends as [Store.Sweep] does, and its Report is valid beside an error.
func (s *Store) Verify(ctx context.Context, cfg VerifyConfig) (Report, error) {
	stage, err := s.stage(ctx)
	if err != nil {
		return Report{}, redisx.Fail("cutover", "verify", rmw.Key{}, 0, err)
	}
	report := Report{Scanned: s.scanned(stage)}
	err = s.scan(ctx, "verify", protocol.Old, cfg, &report.Scanned, func(ctx context.Context, keys []rmw.Key, batch int) error {
		return s.verifyBatches(ctx, namesOf(keys), batch, &report, func(name string, st keyState) {
			if st.is == leftover { // SCAN returned it, so it was in the old store a moment ago
				st.is = absent
			}
			report.add(name, st)
		})
	})
	if err == nil && len(cfg.NewMasters) > 0 {
		err = s.verifyNew(ctx, stage, cfg, &report, s.mover.absentInOld)
	}
	if last, lastErr := s.stage(ctx); err == nil && (lastErr != nil || last.Epoch != stage.Epoch) {
		report.Epoch = 0
	}
	return report, err
}

// verifyNew adds the keys of the new store that a move has not put there, among the names that which
// selects. At Complete every process creates keys there.
func (s *Store) verifyNew(ctx context.Context, stage Stage, cfg VerifyConfig, report *Report,
	which func(context.Context, []string) []string,
) error {
	return s.scan(ctx, "verify", protocol.New, cfg, &report.Scanned, func(ctx context.Context, keys []rmw.Key, batch int) error {
		names, err := await(ctx, s.gate, func(ctx context.Context) []string { return which(ctx, namesOf(keys)) })
		if err != nil || len(names) == 0 {
			return err
		}
		return s.verifyBatches(ctx, names, batch, report, func(name string, st keyState) {
			if slices.Contains([]status{twoHomes, leftover, unanswered}, st.is) || st.is == noMarker && stage.Phase != Complete {
				report.add(name, st)
			}
		})
	})
}

func namesOf(keys []rmw.Key) []string {
	return mapped(keys, func(key rmw.Key) string { return key.Name })
}

// absentInOld returns the names that the old store does not have, or for which it does not answer.
func (m *mover) absentInOld(ctx context.Context, names []string) (absent []string) {
	for i, kind := range m.types(ctx, protocol.Old, names) {
		if kind == "" || kind == "none" {
			absent = append(absent, names[i])
		}
	}
	return absent
}

// types asks a store for the TYPE of each key. It is "" if the store does not answer.
func (m *mover) types(ctx context.Context, side protocol.Side, names []string) []string {
	replies := m.ask(ctx, side, names, nil, func(p redis.Pipeliner, i int) redis.Cmder { return p.Type(ctx, names[i]) })
	return mapped(replies, func(reply redis.Cmder) string { return reply.(*redis.StatusCmd).Val() })
}

// verifyBatches calls add with the state of each key.
func (s *Store) verifyBatches(ctx context.Context, names []string, batch int, report *Report, add func(string, keyState)) error {
	states, err := await(ctx, s.gate, func(ctx context.Context) []keyState {
		states := make([]keyState, len(names))
		inLanes(len(names), batch, func(from, to int) { copy(states[from:to], s.mover.examine(ctx, names[from:to])) })
		return states
	})
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(states, func(st keyState) bool { return st.is != unanswered }) {
		for i, st := range states {
			add(names[i], st)
		}
		return fmt.Errorf("all %d keys of a batch failed, the last one: %w", len(names), report.Cause)
	}
	pause := rmw.Backoff{Base: 2 * time.Millisecond, Max: 20 * time.Millisecond}
	for i, st := range states {
		for again := 1; again <= 2 && st.wrong(); again++ {
			if err := redisx.Sleep(ctx, pause.Delay(again, rand.Float64())); err != nil {
				return err
			}
			one, err := await(ctx, s.gate, func(ctx context.Context) []keyState { return s.mover.examine(ctx, names[i:i+1]) })
			if err != nil {
				return err
			}
			st = one[0]
		}
		add(names[i], st)
	}
	return nil
}

// examine looks at the keys in both stores.
func (m *mover) examine(ctx context.Context, names []string) []keyState {
	began := time.Now()
	old, new := m.looks(ctx, protocol.Old, names, true), m.looks(ctx, protocol.New, names, false)
	pttl := func(p redis.Pipeliner, i int) redis.Cmder { return p.PTTL(ctx, names[i]) }
	left := m.ask(ctx, protocol.Old, names, nil, pttl)
	newLeft := m.ask(ctx, protocol.New, names, func(i int) bool { return new[i].Err == nil && new[i].Look.Kind != protocol.Open }, pttl)
	states := make([]keyState, len(names))
	for i := range names {
		states[i] = judge(old[i], new[i], left[i])
		if cmd, ok := newLeft[i].(*redis.DurationCmd); ok && cmd.Val() >= 0 && states[i].is != unanswered &&
			m.looks(ctx, protocol.New, names[i:i+1], false)[0].Look.Look == new[i].Look.Look {
			states[i].is = expiring
		}
		if states[i].is == expiring && m.looks(ctx, protocol.Old, names[i:i+1], true)[0].Look.Look != old[i].Look.Look {
			states[i].is = inTransit // the expiry was that of a value
		}
	}
	m.date(ctx, names, old, states)
	m.measure(ctx, names, old, states)
	m.compare(ctx, names, old, states, began)
	m.findFieldExpiries(ctx, names, old, states)
	return states
}

// judge classifies a key by its states in the two stores, and by the reply to PTTL in the old one.
func judge(oldReply, newReply marker.Reply, left redis.Cmder) keyState {
	old, new := oldReply.Look, newReply.Look
	if err := errors.Join(oldReply.Err, newReply.Err, left.Err()); err != nil {
		return keyState{err: err}
	}
	step := protocol.Decide(old.Look, new.Look)
	switch {
	case old.Kind == protocol.Open && old.Absent && new.Kind == protocol.Open && !new.Absent:
		return keyState{is: noMarker}
	case old.Kind == protocol.Open && old.Absent && new.Kind != protocol.Open:
		return keyState{is: leftover}
	case old.Kind == protocol.Open && old.Absent:
		return keyState{is: absent}
	case old.Kind == protocol.Open && new.Kind == protocol.Open && !new.Absent:
		return keyState{is: twoHomes}
	case old.Kind == protocol.Open && old.Type != "string" && old.Type != "hash":
		return keyState{is: foreign}
	case old.Kind == protocol.Open:
		return keyState{is: atOld}
	case left.(*redis.DurationCmd).Val() >= 0:
		return keyState{is: expiring}
	case step.Forgotten:
		return keyState{is: forgotten}
	case step.Do != protocol.Use:
		return keyState{is: inTransit}
	case new.Absent && !isAbsent(old.Value):
		return keyState{is: missing}
	}
	return keyState{is: changed} // unless compare finds it equal
}

// date reads the ages of the markers of keys in transit.
func (m *mover) date(ctx context.Context, names []string, looks []marker.Reply, states []keyState) {
	for _, side := range []protocol.Side{protocol.Old, protocol.New} {
		times := m.ask(ctx, side, names, func(i int) bool {
			return states[i].is == inTransit && (looks[i].Look.Kind == protocol.Sealed) == (side == protocol.Old)
		}, func(p redis.Pipeliner, i int) redis.Cmder { return p.LIndex(ctx, names[i], 6) })
		for i, cmd := range times {
			if cmd, ok := cmd.(*redis.StringCmd); ok {
				if ms, err := cmd.Int64(); err == nil { // else the key has arrived meanwhile
					states[i].age = time.Since(time.UnixMilli(ms))
				}
			}
		}
	}
}

// measure finds the keys that are larger than maxSeal.
func (m *mover) measure(ctx context.Context, names []string, looks []marker.Reply, states []keyState) {
	sizes := m.ask(ctx, protocol.Old, names, func(i int) bool { return states[i].is == atOld }, func(p redis.Pipeliner, i int) redis.Cmder {
		if looks[i].Look.Type == "hash" {
			return p.HScan(ctx, names[i], 0, "", pageSize)
		}
		return p.StrLen(ctx, names[i])
	})
	for i, cmd := range sizes {
		switch cmd := cmd.(type) {
		case *redis.IntCmd:
			if cmd.Val() > int64(m.maxSeal) {
				states[i].is = large
			}
		case *redis.ScanCmd:
			if m.isLarge(ctx, names[i], cmd) {
				states[i].is = large
			}
		}
	}
}

// isLarge reads a hash, page by page, until it is larger than maxSeal.
func (m *mover) isLarge(ctx context.Context, name string, page *redis.ScanCmd) bool {
	for size := 0; ; {
		fields, cursor := page.Val()
		for _, text := range fields {
			size += len(text)
		}
		if size > m.maxSeal || cursor == 0 {
			return size > m.maxSeal
		}
		pipe := m.clients[protocol.Old].Pipeline()
		page = pipe.HScan(ctx, name, cursor, "", pageSize)
		_, _ = pipe.Exec(ctx) // on an error the page is empty and its cursor 0
	}
}

// slack is how much two expiries may differ, besides the time between the two looks.
const slack = 50 * time.Millisecond

// compare finds the keys that are in the new store as their marker in the old one says. It reads only
// values of the same length.
func (m *mover) compare(ctx context.Context, names []string, looks []marker.Reply, states []keyState, began time.Time) {
	candidates := func(i int) bool { return states[i].is == changed }
	hash := func(i int) bool { return looks[i].Look.Value.Type == "hash" }
	lengths := m.ask(ctx, protocol.New, names, candidates, func(p redis.Pipeliner, i int) redis.Cmder {
		if hash(i) {
			return p.HLen(ctx, names[i])
		}
		return p.StrLen(ctx, names[i])
	})
	same := func(i int) bool {
		if lengths[i] == nil || lengths[i].Err() != nil {
			return false
		}
		length := 0
		switch want := looks[i].Look.Value; {
		case isAbsent(want):
		case hash(i):
			length = len(want.Data) / 2
		case len(want.Data) > 0:
			length = len(want.Data[0])
		}
		return lengths[i].(*redis.IntCmd).Val() == int64(length)
	}
	values := m.ask(ctx, protocol.New, names, same, func(p redis.Pipeliner, i int) redis.Cmder {
		if hash(i) {
			return p.HGetAll(ctx, names[i])
		}
		return p.Get(ctx, names[i])
	})
	lefts := m.ask(ctx, protocol.New, names, same, func(p redis.Pipeliner, i int) redis.Cmder { return p.PTTL(ctx, names[i]) })
	tolerance := slack + time.Since(began)
	for i := range names {
		if same(i) && sameValue(looks[i].Look.Value, values[i]) && sameExpiry(looks[i].Look.Value, lefts[i], tolerance) {
			states[i].is = equal
		}
	}
}

// isAbsent says whether the key was absent when it moved, or would have expired by now.
func isAbsent(v marker.Value) bool { return v.Type == "none" || v.Left == 0 }

// sameValue says whether the reply to a GET or a HGETALL is the value.
func sameValue(want marker.Value, reply redis.Cmder) bool {
	switch reply := reply.(type) {
	case *redis.StringCmd:
		if isAbsent(want) {
			return errors.Is(reply.Err(), redis.Nil)
		}
		return reply.Err() == nil && len(want.Data) == 1 && reply.Val() == want.Data[0]
	case *redis.MapStringStringCmd:
		got := reply.Val()
		if reply.Err() != nil || isAbsent(want) {
			return reply.Err() == nil && len(got) == 0
		}
		for i := 0; i+1 < len(want.Data); i += 2 {
			if value, ok := got[want.Data[i]]; !ok || value != want.Data[i+1] {
				return false
			}
		}
		return len(got) == len(want.Data)/2
	}
	return false
}

// sameExpiry compares an expiry with the reply to a PTTL, which is -1ns for none and -2ns for an absent key.
func sameExpiry(want marker.Value, reply redis.Cmder, tolerance time.Duration) bool {
	left := reply.(*redis.DurationCmd).Val()
	switch {
	case reply.Err() != nil:
		return false
	case isAbsent(want):
		return left == -2
	case left < 0 || want.Left < 0:
		return left == -1 && want.Left < 0
	}
	return (time.Duration(want.Left)*time.Millisecond - left).Abs() <= tolerance
}

func (m *mover) looks(ctx context.Context, side protocol.Side, names []string, value bool) []marker.Reply {
	return m.clients[side].Do(ctx, mapped(names, func(name string) marker.Step { return marker.LookAt(name, value) }))
}

// ask sends a command of each key that which selects (nil: each key) in one pipeline. The others have
// a nil Cmder.
func (m *mover) ask(ctx context.Context, side protocol.Side, names []string, which func(int) bool,
	command func(redis.Pipeliner, int) redis.Cmder,
) []redis.Cmder {
	pipe := m.clients[side].Pipeline()
	cmds := make([]redis.Cmder, len(names))
	for i := range names {
		if which == nil || which(i) {
			cmds[i] = command(pipe, i)
		}
	}
	_, _ = pipe.Exec(ctx) // each command has its error
	return cmds
}
