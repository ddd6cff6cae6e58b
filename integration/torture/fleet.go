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
	// keyPrefix begins the names of all values; whatever else is stored belongs to locks.
	keyPrefix = "torture:"

	// lease is short, so that a cell of seconds has many that end.
	lease = 150 * time.Millisecond

	// updateLimit is what one step may take in all.
	updateLimit = 5 * time.Second

	// perKey is how many updates a key takes before the next one takes its place: what is
	// stored, and with it the check, grows with the square.
	perKey = 100
)

// The size of a fleet.
const (
	processes = 4
	writers   = 2 // of lists and counters, in each process
)

// fleet is the processes of a cell.
type fleet struct {
	history  *History
	seed     uint64
	mind     mind
	client   func(process int) (redis.UniversalClient, error)
	open     func(rdb redis.UniversalClient) rmw.Store // what processes on the new path use
	openOdd  func(rdb redis.UniversalClient) rmw.Store // what every other of these uses; nil: the same
	watch    int                                       // processes on the legacy path
	external *external                                 // nil: the processes have nothing in common but the servers

	generation func(kind string) int64 // of the keys of a kind
	begin      func(op *Operation)     // nil: it need not be known of an update that it has begun
}

// counted has each key take so many updates, and then the next one.
func counted() func(kind string) int64 {
	var started sync.Map
	return func(kind string) int64 {
		n, _ := started.LoadOrStore(kind, new(atomic.Int64))
		return n.(*atomic.Int64).Add(1) / perKey
	}
}

func openLockupdate(rdb redis.UniversalClient) rmw.Store {
	return lockupdate.New(rdb, lockupdate.Config{Lease: lease, MaxAttempts: 1000})
}

func openOnDemand(rdb redis.UniversalClient) rmw.Store {
	return lockupdate.New(rdb, lockupdate.Config{Lease: lease, MaxAttempts: 1000, LockOnDemand: true})
}

// run works until ctx ends, and returns when every process has closed what it had.
func (f *fleet) run(ctx context.Context) error {
	var all sync.WaitGroup
	errs := make([]error, processes+f.watch)
	for i := range errs {
		all.Go(func() { errs[i] = f.process(ctx, i, "") })
	}
	all.Wait()
	return errors.Join(errs...)
}

// process is a service's process: a client, a store, some goroutines. The ids that it adds begin
// with a prefix.
func (f *fleet) process(ctx context.Context, number int, prefix string) error {
	rdb, err := f.client(number)
	if err != nil {
		return err
	}
	store := f.open
	switch {
	case number >= processes:
		store = func(rdb redis.UniversalClient) rmw.Store { return cas.New(rdb, cas.Config{MaxAttempts: 1000}) }
	case number%2 == 1 && f.openOdd != nil:
		store = f.openOdd
	}
	s := store(rdb)
	f.work(ctx, s, worksOf(s), number, prefix)
	return rdb.Close()
}

// work has a goroutine for each of the works do it until ctx ends, and closes the store.
func (f *fleet) work(ctx context.Context, s rmw.Store, works []Work, number int, prefix string) {
	var all sync.WaitGroup
	for i, work := range works {
		all.Go(func() {
			id := number*maxWorks + i
			w := &worker{fleet: f, store: s, number: id, prefix: fmt.Sprintf("%s%d.", prefix, id)}
			w.rng = rand.New(rand.NewPCG(f.seed, uint64(id)))
			for ctx.Err() == nil {
				if work.step(w) == NotWritten {
					_ = pause(ctx, 5*time.Millisecond) // as nobody would who is refused a connection
				}
			}
		})
	}
	all.Wait()
	if c, ok := s.(interface{ Close() error }); ok {
		if err := c.Close(); err != nil {
			// Of locks that could not be given back: they end by themselves, which is looked at.
			f.history.note(fmt.Sprintf("process %d: %v", number, err))
		}
	}
}
