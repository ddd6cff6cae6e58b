package torture

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/lock"
)

// locker is a store that has sections.
type locker interface {
	WithLock(ctx context.Context, name string, fn func(ctx context.Context) error) error
	WithLocks(ctx context.Context, names []string, fn func(ctx context.Context) error) error
}

// Section is what a holder of locks has seen of them.
type Section struct {
	Process int
	Names   []string
	ID      string        // of a transfer; "": it is none
	Token   uint64        // 0: none was drawn
	Enter   time.Duration // when fn was called; since the cell began
	Held    time.Duration // when its ctx was last seen not to have ended
	Done    bool          // no error
	Refused string        // why one in it, of the same name, was not begun although the lock was held
	Err     string
}

// held notes that the locks are, if so. The clock is read first: who is stopped between the two
// is not to have held what has ended meanwhile.
func (s *Section) held(ctx context.Context, now func() time.Duration) {
	if at := now(); ctx.Err() == nil {
		s.Held = at
	}
}

// errStep ends a section of which a step was not carried out.
var errStep = errors.New("a step of the section was not carried out")

// section holds a lock for a while: mostly shortly, sometimes for longer than a lease.
func (w *worker) section() Outcome {
	key, id := w.key(sectionKind), w.id()
	ctx, cancel := w.limited()
	defer cancel()
	stay := within(w.rng, 0, lease/15)
	if w.rng.IntN(8) == 0 {
		stay = within(w.rng, 0, 2*lease)
	}
	nests, fences := w.rng.IntN(2) == 0, w.external != nil && w.rng.IntN(4) > 0
	stall, stalls := w.mind.stall.oftener(3).draw(w.rng) // there are fewer sections than updates
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

// end writes down what became of a section.
func (w *worker) end(s *Section, err error) Outcome {
	if s.Done = err == nil; !s.Done {
		s.Err = err.Error()
	}
	if s.Enter > 0 {
		w.history.addSection(*s)
	}
	if s.Done {
		return Acknowledged
	}
	return NotWritten
}

// fenced adds an id to a list that is not in Redis, and that only the token guards.
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
		_ = pause(context.Background(), stall) // whatever its ctx says
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
