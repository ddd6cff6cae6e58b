package torture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

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
	external     *external // nil: the processes share only the servers

	generation func(kind string) int64 // of the current key of a kind
	begin      func(s said)            // nil: the start of an update is not recorded
}

// opened is the store of a process.
type opened struct {
	store any // an rmw.Store, or only a withLock, as the works need
	works []Work
	also  []io.Closer // its clients, which close after the store
}

// opener opens the store of a process.
type opener func(s *Environment, process int) (opened, error)

func (o opened) close() error {
	var errs []error
	if c, ok := o.store.(io.Closer); ok {
		errs = append(errs, c.Close())
	}
	for _, c := range o.also {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
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

// run works with some processes, numbered from first, until ctx ends and each has closed its store.
func (f *fleet) run(ctx context.Context, first, count int, open func(process int) (opened, error)) error {
	var all sync.WaitGroup
	errs := make([]error, count)
	for i := range errs {
		all.Go(func() { errs[i] = f.process(ctx, first+i, "", open) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// process simulates a service process: it runs each of its works in a goroutine. prefix begins its ids.
func (f *fleet) process(ctx context.Context, number int, prefix string, open func(process int) (opened, error)) error {
	o, err := open(number)
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	for i, work := range o.works {
		all.Go(func() {
			id := number*maxWorks + i
			w := &worker{fleet: f, store: o.store, number: id, prefix: fmt.Sprintf("%s%d.", prefix, id)}
			w.rng = rand.New(rand.NewPCG(f.seed, uint64(id)))
			for ctx.Err() == nil {
				if work.step(w) == NotWritten {
					_ = pause(ctx, 5*time.Millisecond) // a refused connection must not make a busy loop
				}
			}
		})
	}
	all.Wait()
	if err := o.close(); err != nil {
		// Close reports locks that could not be released. They expire, and the check verifies that.
		f.history.note(fmt.Sprintf("process %d: %v", number, err))
	}
	return nil
}
