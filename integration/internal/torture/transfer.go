package torture

import (
	"context"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// accounts is the number of lists with transfers between them.
const accounts = 3

// transfer adds an id to two lists, under the locks of both. Each update is a normal one; because of the
// locks other holders see none or both.
func (w *worker) transfer() Outcome {
	id, generation := w.id(), w.generation(accountKind)
	from := w.rng.IntN(accounts)
	to := (from + 1 + w.rng.IntN(accounts-1)) % accounts
	var keys [2]rmw.Key
	for i, n := range [...]int{from, to} {
		keys[i] = rmw.Key{Name: fmt.Sprintf("%s%s-%d:%d", keyPrefix, accountKind, n, generation)}
	}
	ctx, cancel := w.limited()
	defer cancel()
	stall, stalls := w.clientFaults.stall.draw(w.rng)
	stay := within(w.rng, 0, 2*time.Millisecond)
	s := Section{Process: w.number, Names: []string{keys[0].Name, keys[1].Name}, ID: id}
	err := w.store.(locker).WithLocks(ctx, s.Names, func(ctx context.Context) error {
		s.Enter = w.history.now()
		for _, key := range keys {
			s.held(ctx, w.history.now)
			if w.update(ctx, key, id) != Acknowledged {
				return errStep
			}
			if stalls {
				_ = pause(context.Background(), stall) // ignores ctx, as a stalled process would
			} else {
				_ = pause(ctx, stay)
			}
		}
		s.held(ctx, w.history.now)
		return nil
	})
	return w.end(&s, err)
}
