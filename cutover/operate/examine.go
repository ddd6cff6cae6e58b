package operate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/cutover/internal/marker"
	"github.com/unwatch/unwatch/cutover/internal/protocol"
	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// examine looks at the keys in both stores.
func (m batches) examine(ctx context.Context, names []string) []keyState {
	began := time.Now()
	old, new := m.looks(ctx, protocol.Old, names, true), m.looks(ctx, protocol.New, names, false)
	for i := range names {
		m.unseal(ctx, names[i:i+1], &old[i], &new[i])
	}
	pttl := func(p redis.Pipeliner, i int) redis.Cmder { return p.PTTL(ctx, names[i]) }
	left := m.ask(ctx, protocol.Old, names, nil, pttl)
	newLeft := m.ask(ctx, protocol.New, names, func(i int) bool { return new[i].Err == nil && new[i].Look.Kind != protocol.Open }, pttl)
	states := make([]keyState, len(names))
	for i := range names {
		states[i] = judge(old[i], new[i], left[i])
		if cmd, ok := newLeft[i].(*redis.DurationCmd); ok && cmd.Val() >= 0 && states[i].is != unanswered {
			again := m.looks(ctx, protocol.New, names[i:i+1], false)[0]
			if again.Err != nil {
				states[i] = keyState{err: again.Err}
			} else if again.Look.Look == new[i].Look.Look {
				states[i].is = expiring
			}
		}
		if states[i].is == expiring {
			again := m.looks(ctx, protocol.Old, names[i:i+1], true)[0]
			if again.Err != nil {
				states[i] = keyState{err: again.Err}
			} else if again.Look.Look != old[i].Look.Look {
				states[i].is = inTransit // the expiry was that of a value
			}
		}
	}
	unanswer(states, newLeft)
	m.date(ctx, names, old, states)
	m.measure(ctx, names, old, states)
	m.compare(ctx, names, old, states, began)
	m.findFieldExpiries(ctx, names, old, states)
	return states
}

// unseal ends the updates of several keys that have sealed the key, and looks at it again: its value may be in a
// decision only.
func (m batches) unseal(ctx context.Context, name []string, old, new *marker.Reply) {
	for tries := 0; old.Look.Seal != nil || new.Look.Seal != nil; tries++ {
		err := m.Resolve(ctx, name[0], old.Look, new.Look)
		if err == nil && tries == m.Tries {
			err = fmt.Errorf("%w: another update of several keys had sealed the key each time", rmw.ErrContended)
		}
		if err != nil {
			*old = marker.Reply{Err: err}
			return
		}
		*old, *new = m.looks(ctx, protocol.Old, name, true)[0], m.looks(ctx, protocol.New, name, false)[0]
	}
}

// unanswer replaces the states of the keys for which a store was away.
func unanswer(states []keyState, replies []redis.Cmder) {
	for i, reply := range replies {
		if reply != nil && redisx.IsAway(reply.Err()) {
			states[i] = keyState{err: reply.Err()}
		}
	}
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
func (m batches) date(ctx context.Context, names []string, looks []marker.Reply, states []keyState) {
	for _, side := range []protocol.Side{protocol.Old, protocol.New} {
		times := m.ask(ctx, side, names, func(i int) bool {
			return states[i].is == inTransit && (looks[i].Look.Kind == protocol.Sealed) == (side == protocol.Old)
		}, func(p redis.Pipeliner, i int) redis.Cmder { return p.LIndex(ctx, names[i], 6) })
		unanswer(states, times)
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
func (m batches) measure(ctx context.Context, names []string, looks []marker.Reply, states []keyState) {
	sizes := m.ask(ctx, protocol.Old, names, func(i int) bool { return states[i].is == atOld }, func(p redis.Pipeliner, i int) redis.Cmder {
		if looks[i].Look.Type == "hash" {
			return p.HScan(ctx, names[i], 0, "", pageSize)
		}
		return p.StrLen(ctx, names[i])
	})
	unanswer(states, sizes)
	for i, cmd := range sizes {
		switch cmd := cmd.(type) {
		case *redis.IntCmd:
			if cmd.Val() > int64(m.MaxSeal) {
				states[i].is = large
			}
		case *redis.ScanCmd:
			if ok, err := m.isLarge(ctx, names[i], cmd); redisx.IsAway(err) {
				states[i] = keyState{err: err}
			} else if ok {
				states[i].is = large
			}
		}
	}
}

// isLarge reads a hash, page by page, until it is larger than maxSeal.
func (m batches) isLarge(ctx context.Context, name string, page *redis.ScanCmd) (bool, error) {
	for size := 0; ; {
		fields, cursor := page.Val()
		for _, text := range fields {
			size += len(text)
		}
		if size > m.MaxSeal || cursor == 0 {
			return size > m.MaxSeal, page.Err()
		}
		pipe := m.Clients[protocol.Old].Pipeline()
		page = pipe.HScan(ctx, name, cursor, "", pageSize)
		_, _ = pipe.Exec(ctx) // on an error the page is empty and its cursor 0
	}
}

// slack is how much two expiries may differ, besides the time between the two looks.
const slack = 50 * time.Millisecond

// compare finds the keys that are in the new store as their marker in the old one says. It reads only
// values of the same length.
func (m batches) compare(ctx context.Context, names []string, looks []marker.Reply, states []keyState, began time.Time) {
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
	for _, replies := range [][]redis.Cmder{lengths, values, lefts} {
		unanswer(states, replies)
	}
	for i := range names {
		want := looks[i].Look.Value
		if states[i].is == changed && same(i) && sameValue(want, values[i]) && sameExpiry(want, lefts[i], tolerance) {
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

func (m batches) looks(ctx context.Context, side protocol.Side, names []string, value bool) []marker.Reply {
	return m.Clients[side].Do(ctx, mapped(names, func(name string) marker.Step { return marker.LookAt(name, value) }))
}

// ask sends a command of each key that which selects (nil: each key) in one pipeline. The others have
// a nil Cmder.
func (m batches) ask(ctx context.Context, side protocol.Side, names []string, which func(int) bool,
	command func(redis.Pipeliner, int) redis.Cmder,
) []redis.Cmder {
	pipe := m.Clients[side].Pipeline()
	cmds := make([]redis.Cmder, len(names))
	for i := range names {
		if which == nil || which(i) {
			cmds[i] = command(pipe, i)
		}
	}
	_, _ = pipe.Exec(ctx) // each command has its error
	return cmds
}
