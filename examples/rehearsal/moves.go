package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/cutover"
)

// moves is the Source of the stage, and a record of the moves.
type moves struct {
	run  *run
	legs []leg
	in   []int // by event: the leg in which it began

	mu   sync.Mutex
	seen map[string]*move // by key and the nonce of the marker that the value replaces
}

// move is the time for which no store served a key.
type move struct {
	key            string
	toNew          bool
	sealed, filled time.Time // seal sent, and reply to the fill; the zero time until then
	leg            int       // of the reply
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

// recorded notes in which leg an event began.
type recorded struct {
	chat
	*moves
}

func (s recorded) apply(ctx context.Context, e event) (int, error) {
	s.in[e.ID] = s.leg()
	return s.chat.apply(ctx, e)
}

// mover is a hook that notes the seals and fills of one client.
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
		began := time.Now()
		err := next(ctx, cmd)
		if c, ok := cmd.(interface{ Slice() ([]any, error) }); ok && err == nil && len(cmd.Args()) > 7 {
			if state, _ := c.Slice(); len(state) > 1 {
				m.note(cmd.Args()[3:], state, began)
			}
		}
		return err
	}
}

// note records a seal or a fill that succeeded: the words are key, step, nonce, and for a seal the
// nonce of the other store's marker.
func (m mover) note(words, state []any, began time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := func(nonce any) *move {
		id := fmt.Sprint(words[0], nonce)
		if m.seen[id] == nil {
			m.seen[id] = &move{key: fmt.Sprint(words[0])}
		}
		return m.seen[id]
	}
	switch {
	case words[1] == "seal" && state[0] == "sealed" && state[1] == words[2]:
		at(words[3]).sealed = began
	case words[1] == "fill" && state[0] == "open":
		if f := at(words[2]); f.filled.IsZero() { // another process may fill, too
			f.toNew, f.filled, f.leg = m.toNew, time.Now(), m.leg()
		}
	}
}

// movesRow is a row of the table of act F.
type movesRow struct {
	name                 string
	updates, lost, moved int
	onNew                int           // keys that had their home in the new store at its end
	pause                time.Duration // the longest
}

// rows returns a row for each leg.
func (m *moves) rows() []movesRow {
	rows := make([]movesRow, len(m.legs))
	for i, fate := range m.run.fates {
		if fate == acknowledged {
			rows[m.in[i]].updates++
		}
	}
	for _, id := range m.run.audit.Lost {
		rows[m.in[id]].lost++
	}
	order := slices.SortedFunc(maps.Values(m.seen), func(a, b *move) int { return a.filled.Compare(b.filled) })
	onNew := map[string]bool{}
	for i := range rows {
		row := &rows[i]
		row.name = m.legs[i].name
		for _, f := range order {
			if f.leg == i && !f.filled.IsZero() && !f.sealed.IsZero() {
				row.moved++
				row.pause = max(row.pause, f.filled.Sub(f.sealed))
				onNew[f.key] = f.toNew
			}
		}
		maps.DeleteFunc(onNew, func(_ string, there bool) bool { return !there })
		row.onNew = len(onNew)
	}
	return rows
}
