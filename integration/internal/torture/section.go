package torture

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/lock"
)

// locker is a store with critical sections.
type locker interface {
	WithLock(ctx context.Context, name string, fn func(ctx context.Context) error) error
	WithLocks(ctx context.Context, names []string, fn func(ctx context.Context) error) error
}

// Section records a critical section, as its holder saw it.
type Section struct {
	Process int
	Names   []string
	ID      string        // of a transfer; "": no transfer
	Token   uint64        // 0: none
	Enter   time.Duration // the start of fn, since the start of the cell
	Held    time.Duration // the last time that its ctx was active
	Writes  []Write       // to the external store, of a holder that does nothing else
	Done    bool          // no error
	Refused string        // the reason why a nested section of the same name was refused although the lock was held
	Err     string
}

// held records that the locks are held, if ctx is active. It reads the clock first: the process may be
// suspended between the two, and the lock may expire meanwhile.
func (s *Section) held(ctx context.Context, now func() time.Duration) {
	if at := now(); ctx.Err() == nil {
		s.Held = at
	}
}

// errStep ends a section after a failed step.
var errStep = errors.New("a step of the section failed")

// section holds a lock, mostly for a short time, sometimes for longer than a lease.
func (w *worker) section() Outcome {
	key, id := w.key(sectionKind), w.id()
	ctx, cancel := w.limited()
	defer cancel()
	stay := within(w.rng, 0, lease/15)
	if w.rng.IntN(8) == 0 {
		stay = within(w.rng, 0, 2*lease)
	}
	nests, fences := w.rng.IntN(2) == 0, w.external != nil && w.rng.IntN(4) > 0
	stall, stalls := w.clientFaults.stall.oftener(3).draw(w.rng) // sections are rarer than updates
	s := Section{Process: w.number, Names: []string{key.Name}}
	locks := w.store.(locker)
	err := locks.WithLock(ctx, key.Name, func(ctx context.Context) error {
		s.Enter = w.history.now()
		s.held(ctx, w.history.now)
		_ = pause(ctx, stay)
		s.held(ctx, w.history.now)
		if fences {
			if err := w.fenced(ctx, &s, id, stall, stalls); err != nil {
				return err
			}
		}
		if !nests {
			return nil
		}
		begun := false
		err := locks.WithLock(ctx, key.Name, func(ctx context.Context) error {
			begun = true
			if w.update(ctx, key, id) != Acknowledged {
				return errStep
			}
			return nil
		})
		if s.held(ctx, w.history.now); !begun && ctx.Err() == nil {
			s.Refused = fmt.Sprint(err)
		}
		return err
	})
	return w.end(&s, err)
}

// end records the result of a section.
func (w *worker) end(s *Section, err error) Outcome {
	if s.Done = err == nil; !s.Done {
		s.Err = err.Error()
	}
	if s.Enter > 0 {
		w.history.take(said{Section: s})
	}
	if s.Done {
		return Acknowledged
	}
	return NotWritten
}

// fenced adds an id to a list outside Redis that only the token guards.
func (w *worker) fenced(ctx context.Context, s *Section, id string, stall time.Duration, stalls bool) (err error) {
	if s.Token, err = lock.Token(ctx); err != nil {
		return err
	}
	s.held(ctx, w.history.now)
	key := keyPrefix + externalKind + s.Names[0][len(keyPrefix+sectionKind):]
	op := Operation{Process: w.number, Key: key, ID: id, Call: w.history.now()}
	list, ok := w.external.read(key, s.Token)
	if !ok {
		return errStep
	}
	if stalls {
		_ = pause(context.Background(), stall) // ignores ctx, as a stalled process would
	}
	ok = w.external.write(key, s.Token, append(list[:len(list):len(list)], id))
	op.Return, op.Seen = w.history.now(), list
	if op.Outcome = NotWritten; ok {
		op.Outcome = Acknowledged
	}
	w.history.add(op)
	s.held(ctx, w.history.now)
	return nil
}
