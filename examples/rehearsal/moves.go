package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/cutover"
)

// leg is a part of act F: its stage, and the share of the events after which it ends.
type leg struct {
	name  string
	until int // percent of the events
	stage cutover.Stage

	moved, onNew int           // keys that moved, and keys in the new store at its end
	pause        time.Duration // the longest
}

// legs returns the way of the data. Keys move when they are updated, so only a part of them goes
// back in the third leg. The last leg updates each key once more, without a change.
func legs() []leg {
	return []leg{
		{name: "follow", until: 20},
		{name: "copying 50 %", until: 45, stage: cutover.Stage{Phase: cutover.Copying, Percent: 50}},
		{name: "reverse", until: 65, stage: cutover.Stage{Phase: cutover.Reverse}},
		{name: "copying 100 %", until: 100, stage: cutover.Stage{Phase: cutover.Copying, Percent: 100}},
		{name: "last pass", stage: cutover.Stage{Phase: cutover.Copying, Percent: 100}},
	}
}

// moves is the Source of the stage, and a record of the moves.
type moves struct {
	run  *run
	legs []leg
	in   []int // by event: the leg in which it began

	mu     sync.Mutex
	sealed map[string]time.Time // when a seal was sent; the zero time once its value has arrived
	onNew  map[string]bool      // by key
}

func newMoves(x *run) *moves {
	return &moves{run: x, legs: legs(), in: make([]int, len(x.stream)), sealed: map[string]time.Time{}, onNew: map[string]bool{}}
}

// leg returns the index of the present leg.
func (m *moves) leg() (i int) {
	for i < len(m.legs)-1 && int(m.run.done.Load()) >= len(m.run.stream)*m.legs[i].until/100 {
		i++
	}
	return i
}

// Stage implements cutover.Source.
func (m *moves) Stage(context.Context) (cutover.Stage, error) { return m.legs[m.leg()].stage, nil }

// seal notes the first seal for a reservation of the other store.
func (m *moves) seal(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, sent := m.sealed[id]; !sent {
		m.sealed[id] = time.Now()
	}
}

// fill counts the first fill of a reservation: another process may fill, too.
func (m *moves) fill(id, key string, toNew bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	began := m.sealed[id]
	if began.IsZero() {
		return
	}
	i := m.leg()
	m.sealed[id] = time.Time{}
	m.legs[i].moved++
	m.legs[i].pause = max(m.legs[i].pause, time.Since(began))
	if m.onNew[key] = toNew; !toNew {
		delete(m.onNew, key)
	}
	for ; i < len(m.legs); i++ {
		m.legs[i].onNew = len(m.onNew)
	}
}

// mover is a hook that notes the seals and fills of one client: scripts with the words key, step and
// nonce, and for a seal the nonce of the other store's reservation.
type mover struct {
	*moves
	toNew bool
}

func (mover) DialHook(next redis.DialHook) redis.DialHook { return next }

func (mover) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (m mover) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		words := cmd.Args()
		if len(words) > 7 && words[4] == "seal" {
			m.seal(fmt.Sprint(words[3], words[6]))
		}
		err := next(ctx, cmd)
		if c, ok := cmd.(interface{ Slice() ([]any, error) }); ok && err == nil && len(words) > 7 && words[4] == "fill" {
			if state, _ := c.Slice(); len(state) > 1 && state[0] == "open" {
				m.fill(fmt.Sprint(words[3], words[5]), fmt.Sprint(words[3]), m.toNew)
			}
		}
		return err
	}
}
