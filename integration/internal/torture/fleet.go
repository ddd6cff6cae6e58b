package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

const (
	// keyPrefix begins the keys of all values; all other keys belong to locks.
	keyPrefix = "torture:"

	// lease is short, so that many leases expire in a cell of seconds.
	lease = 150 * time.Millisecond

	// updateLimit limits the time of one step.
	updateLimit = 5 * time.Second

	// perKey is the number of updates after which a key is replaced: the stored value, and with it the
	// check, grows with the square.
	perKey = 100
)

// The size of a fleet.
const (
	processes = 4
	writers   = 2 // of lists and counters, per process
)

// fleet runs the processes of a cell.
type fleet struct {
	history      *History
	seed         uint64
	clientFaults clientFaults
	client       func(process int) (redis.UniversalClient, error)
	open         func(rdb redis.UniversalClient) rmw.Store        // the store of processes on the new path
	openOdd      func(rdb redis.UniversalClient) rmw.Store        // the store of every second one of these; nil: the same
	watch        int                                              // the number of processes on the legacy path
	next         func(process int) (redis.UniversalClient, error) // of the new store of a cut-over; nil: none
	across       acrossFunc                                       // the store over both
	external     *external                                        // nil: the processes share only the servers

	generation func(kind string) int64 // of the current key of a kind
	begin      func(op *Operation)     // nil: the start of an update is not recorded
}

// counted returns the generation of a key for its next update.
func counted(generation func(update int64) int64) func(kind string) int64 {
	var started sync.Map
	return func(kind string) int64 {
		n, _ := started.LoadOrStore(kind, new(atomic.Int64))
		return generation(n.(*atomic.Int64).Add(1))
	}
}

func generation(update int64) int64 { return update / perKey }

// generationAcross is that of a cut-over: nine generations of 5 updates, and one of 50. The first move of a
// key races with its creation, and a command of an earlier move is late only for a key that moves often.
func generationAcross(update int64) int64 { return update/95*10 + min(update%95/5, 9) }

func openLockupdate(rdb redis.UniversalClient) rmw.Store {
	return lockupdate.New(rdb, lockupdate.Config{Lease: lease, MaxAttempts: 1000})
}

func openOnDemand(rdb redis.UniversalClient) rmw.Store {
	return lockupdate.New(rdb, lockupdate.Config{Lease: lease, MaxAttempts: 1000, LockOnDemand: true})
}

// run works until ctx ends, and returns when every process has closed its store.
func (f *fleet) run(ctx context.Context) error {
	var all sync.WaitGroup
	errs := make([]error, processes+f.watch)
	for i := range errs {
		all.Go(func() { errs[i] = f.process(ctx, i, "") })
	}
	all.Wait()
	return errors.Join(errs...)
}

// process simulates a service process: a client, a store and some goroutines. prefix begins its ids.
func (f *fleet) process(ctx context.Context, number int, prefix string) error {
	rdb, err := f.client(number)
	if err != nil {
		return err
	}
	store := f.open
	switch {
	case f.next != nil && number == processes: // a process that knows of one store
	case number >= processes:
		store = func(rdb redis.UniversalClient) rmw.Store { return cas.New(rdb, cas.Config{MaxAttempts: 1000}) }
	case number%2 == 1 && f.openOdd != nil:
		store = f.openOdd
	}
	if f.next != nil && number < processes {
		next, err := f.next(number)
		if err != nil {
			return errors.Join(err, rdb.Close())
		}
		s := f.across([2]redis.UniversalClient{rdb, next}, number, flipsOf(f.seed, number))
		f.work(ctx, s, worksOf(s), number, prefix)
		return errors.Join(next.Close(), rdb.Close())
	}
	s := store(rdb)
	works := worksOf(s)
	if f.next != nil {
		works = works[:writers] // only values, which are refused where the new store has the key
	}
	f.work(ctx, s, works, number, prefix)
	return rdb.Close()
}

// work runs each of the works in a goroutine until ctx ends, then closes the store.
func (f *fleet) work(ctx context.Context, s rmw.Store, works []Work, number int, prefix string) {
	var all sync.WaitGroup
	for i, work := range works {
		all.Go(func() {
			id := number*maxWorks + i
			w := &worker{fleet: f, store: s, number: id, prefix: fmt.Sprintf("%s%d.", prefix, id)}
			w.rng = rand.New(rand.NewPCG(f.seed, uint64(id)))
			for ctx.Err() == nil {
				if work.step(w) == NotWritten {
					_ = pause(ctx, 5*time.Millisecond) // a refused connection must not make a busy loop
				}
			}
		})
	}
	all.Wait()
	if c, ok := s.(interface{ Close() error }); ok {
		if err := c.Close(); err != nil {
			// Close reports locks that could not be released. They expire, and the check verifies that.
			f.history.note(fmt.Sprintf("process %d: %v", number, err))
		}
	}
}
