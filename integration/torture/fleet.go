package torture

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
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

	// updateLimit is what one update may take in all.
	updateLimit = 5 * time.Second

	// perKey is how many updates a key takes before the next one takes its place: what is
	// stored, and with it the check, grows with the square.
	perKey = 100

	keys = 3
)

// fleet is the processes of a cell.
type fleet struct {
	history *History
	seed    uint64
	mind    mind
	client  func(process int) (redis.UniversalClient, error)
	open    func(rdb redis.UniversalClient) rmw.Store // what processes on the new path use
	watch   int                                       // processes on the legacy path

	generation func() int64        // of the keys
	begin      func(op *Operation) // nil: it need not be known of an update that it has begun
}

// counted has each key take so many updates, and then the next one.
func counted() func() int64 {
	var started atomic.Int64
	return func() int64 { return started.Add(1) / (perKey * keys) }
}

// The size of a fleet.
const (
	processes = 4
	workers   = 2 // of each process
)

func openLockupdate(rdb redis.UniversalClient) rmw.Store {
	return lockupdate.New(rdb, lockupdate.Config{Lease: lease, MaxAttempts: 1000})
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
	if number >= processes {
		store = func(rdb redis.UniversalClient) rmw.Store { return cas.New(rdb, cas.Config{MaxAttempts: 1000}) }
	}
	s := store(rdb)
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			id := number*workers + w
			rng := rand.New(rand.NewPCG(f.seed, uint64(id)))
			for i := 0; ctx.Err() == nil; i++ {
				if f.step(s, rng, id, fmt.Sprintf("%s%d.%d", prefix, id, i)) == NotWritten {
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
	return rdb.Close()
}

// step is one update, or one read. It does not end with the cell, but with its own limit: what
// is under way when the cell ends is to have an outcome, too.
func (f *fleet) step(s rmw.Store, rng *rand.Rand, worker int, id string) Outcome {
	slot := rng.IntN(keys)
	key := rmw.Key{Name: fmt.Sprintf("%s%d:%d", keyPrefix, slot, f.generation())}
	if slot == 1 {
		key.Kind = rmw.KindHash
	}
	ctx, cancel := context.WithTimeout(context.Background(), updateLimit)
	defer cancel()
	if d, yes := f.mind.cancel.draw(rng); yes {
		timer := time.AfterFunc(d, cancel)
		defer timer.Stop()
	}
	op := Operation{Process: worker, Key: key.Name, Call: f.history.now()}
	if rng.IntN(10) == 0 {
		v, err := s.Read(ctx, key)
		if op.Return = f.history.now(); err == nil {
			op.Outcome, op.Seen = Acknowledged, ids(v)
			f.history.add(op)
		}
		return op.Outcome
	}
	op.ID = id
	if f.begin != nil {
		f.begin(&op)
	}
	// Drawn beforehand: fn may run after Update has returned.
	stall, stalls := f.mind.stall.draw(rng)
	var seen atomic.Pointer[[]string]
	_, err := s.Update(ctx, key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		list := ids(cur)
		seen.Store(&list)
		if stalls {
			_ = pause(context.Background(), stall) // whatever its ctx says: as a process that stands still
		}
		return with(cur, key, op.ID, len(list)), nil
	})
	op.Return = f.history.now()
	if list := seen.Load(); list != nil {
		op.Seen = *list
	}
	switch {
	case err == nil:
		op.Outcome = Acknowledged
	case errors.Is(err, rmw.ErrOutcomeUnknown):
		op.Outcome, op.Err = Unknown, err.Error()
	default:
		op.Outcome, op.Err = NotWritten, err.Error()
	}
	f.history.add(op)
	return op.Outcome
}

// with is the value with one more id: at the end of a list, or as a field with its place.
func with(cur rmw.Value, key rmw.Key, id string, place int) rmw.Value {
	if key.Kind == rmw.KindHash {
		return cur.With(id, strconv.Itoa(place))
	}
	return rmw.String(cur.Text() + id + ",")
}

// ids are those in a value, in the order in which they were added.
func ids(v rmw.Value) []string {
	if v.Kind() == rmw.KindHash {
		return ordered(v.Fields())
	}
	return listed(v.Text())
}

func listed(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, ","), ",")
}

// ordered are the fields by their places. Two at one place, which is a lost update, follow each
// other in the order of their names.
func ordered(fields map[string]string) []string {
	place := func(id string) int {
		n, err := strconv.Atoi(fields[id])
		if err != nil {
			return -1
		}
		return n
	}
	return slices.SortedFunc(maps.Keys(fields), func(a, b string) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b))
	})
}
