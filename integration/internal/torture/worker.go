package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// worker is one goroutine of a process.
type worker struct {
	*fleet
	store  any // of the process
	rng    *rand.Rand
	number int
	prefix string // of its ids
	made   int    // ids
}

// Work is a task that workers repeat.
type Work struct {
	Name  string
	About string
	step  func(w *worker) Outcome
}

// maxWorks is the maximum number of workers of a process.
const maxWorks = writers + 3

// Works returns the tasks of each process.
func Works() []Work {
	return []Work{
		{"values", "updates and reads of a list of ids in a string, one in a hash, and a counter", (*worker).value},
		{"sections", "WithLock, nested in itself, with an update and a write to an external store by its fencing token", (*worker).section},
		{"transfers", "WithLocks over two of three lists, and an id put into both", (*worker).transfer},
		{"desk", "assign, transfer, decline, requeue, close and reopen sessions, sign agents off, reap", (*worker).serve},
	}
}

// worksOf returns the tasks that a store supports, one per goroutine. A store without sections, as that of
// the legacy path or of a control, only updates values.
func worksOf(s rmw.Store) []Work {
	all := Works()
	values := []Work{all[0], all[0]}
	if _, ok := s.(crossing); ok {
		return append(values, all[3]) // a cut-over has no sections
	}
	if _, ok := s.(locker); !ok {
		return values
	}
	return append(values, all[1:]...)
}

// id returns a unique id.
func (w *worker) id() string {
	w.made++
	return fmt.Sprint(w.prefix, w.made-1)
}

// key returns the current key of a kind.
func (w *worker) key(kind string) rmw.Key {
	return rmw.Key{Name: fmt.Sprintf("%s%s:%d", keyPrefix, kind, w.generation(kind))}
}

// limited returns the ctx of a step. It has its own limit instead of ending with the cell, so that a step
// in flight at the end gets an outcome, too.
func (w *worker) limited() (context.Context, func()) {
	ctx, cancel := context.WithTimeout(context.Background(), updateLimit)
	if d, yes := w.clientFaults.cancel.draw(w.rng); yes {
		timer := time.AfterFunc(d, cancel)
		return ctx, func() { timer.Stop(); cancel() }
	}
	return ctx, cancel
}

// value is one update of a value, or one read.
func (w *worker) value() Outcome {
	kind := [...]string{listKind, hashKind, countKind}[w.rng.IntN(3)]
	key := w.key(kind)
	if kind == hashKind {
		key.Kind = rmw.KindHash
	}
	ctx, cancel := w.limited()
	defer cancel()
	if w.rng.IntN(10) == 0 {
		return w.read(ctx, key)
	}
	return w.update(ctx, key, w.id())
}

func (w *worker) read(ctx context.Context, key rmw.Key) Outcome {
	op := Operation{Process: w.number, Key: key.Name, Call: w.history.now()}
	v, err := w.store.(rmw.Store).Read(ctx, key)
	if op.Return = w.history.now(); err == nil {
		op.Outcome, op.Seen = Acknowledged, seenIn(key, v)
		w.history.add(op)
	}
	return op.Outcome
}

// update adds an id to a value.
func (w *worker) update(ctx context.Context, key rmw.Key, id string) Outcome {
	op := Operation{Process: w.number, Key: key.Name, ID: id, Call: w.history.now()}
	if w.begin != nil {
		w.begin(said{Begin: true, Op: &op})
	}
	// Drawn here, since fn may run after Update has returned.
	stall, stalls := w.clientFaults.stall.draw(w.rng)
	var seen atomic.Pointer[[]string]
	_, err := w.store.(rmw.Store).Update(ctx, key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		list := seenIn(key, cur)
		seen.Store(&list)
		if stalls {
			_ = pause(context.Background(), stall) // ignores ctx, as a stalled process would
		}
		return with(cur, key, id, list), nil
	})
	op.Return = w.history.now()
	if list := seen.Load(); list != nil {
		op.Seen = *list
	}
	op.end(err)
	w.history.add(op)
	return op.Outcome
}

// end records the outcome of an update from its error.
func (op *Operation) end(err error) {
	switch {
	case err == nil:
		op.Outcome = Acknowledged
	case errors.Is(err, rmw.ErrOutcomeUnknown):
		op.Outcome, op.Err = Unknown, err.Error()
	default:
		op.Outcome, op.Err = NotWritten, err.Error()
	}
}
