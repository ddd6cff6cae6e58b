package several

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/internal/seal"
	"github.com/unwatch/unwatch/lockupdate/internal/driver"
	"github.com/unwatch/unwatch/lockupdate/internal/transport"
	"github.com/unwatch/unwatch/rmw"
)

// index tells others where to look when this process has died: a set of the names of its keys, a new one each
// minute, and a time of life in the hash of all Stores. A name that is there already costs nothing.
type index struct {
	line  *Line
	store string

	mu     sync.Mutex
	shown  chan struct{}            // closed when the first sign of life is there, or could not be written; nil: it is not sent
	number int64                    // of the present set, the minute when it began
	names  map[string]chan struct{} // in the present set; closed when it is there, or could not be written
	stuck  map[string]bool          // keys that could not be opened
	late   map[string]time.Time     // keys that a late take may seal, for deadAfter
}

const (
	storesKey = seal.DecisionPrefix + "stores"
	// lifeInterval is how often a Store shows that it lives. After deadAfter, others open its keys, which is right even if it
	// lives. After forgetAfter they delete its decisions: by then it has stopped, and none of its commands is on its way.
	lifeInterval = 30 * time.Second
	deadAfter    = 2 * time.Minute
	forgetAfter  = 24 * time.Hour
	// sets is how many sets of names a process has at a time: an attempt of the set before the last has ended.
	sets = 2
	// noteWithin is how long a decision waits for the names to be written.
	noteWithin = 50 * time.Millisecond
)

func newIndex(l *Line) *index {
	name := l.ids.Name(0)
	return &index{line: l, store: name[:strings.LastIndexByte(name, ':')], stuck: map[string]bool{}, late: map[string]time.Time{}}
}

func setKey(store string, number int64) string {
	return fmt.Sprintf("%s{%s}:keys:%d", seal.DecisionPrefix, store, number)
}

// note writes the names of keys that the present set does not have. Call wait before the decision.
func (x *index) note(keys []rmw.Key) (wait func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.shown == nil {
		x.shown = make(chan struct{})
		x.nextLocked(time.Now())
		x.line.gate.Go(x.live)
	}
	var missing []any
	var pending []chan struct{}
	await := func(done chan struct{}) {
		select {
		case <-done:
		default:
			pending = append(pending, done)
		}
	}
	await(x.shown)
	var written chan struct{}
	for _, key := range keys {
		done, known := x.names[key.Name]
		if !known {
			if written == nil {
				written = make(chan struct{})
			}
			missing, done = append(missing, key.Name), written
			x.names[key.Name] = written
		}
		await(done)
	}
	if len(missing) > 0 {
		number := x.number
		x.line.gate.Go(func() {
			defer close(written)
			if !x.send("sadd", setKey(x.store, number), missing...) {
				x.forget(missing)
			}
		})
	}
	if len(pending) == 0 {
		return func() {}
	}
	return func() {
		limit := time.NewTimer(noteWithin)
		defer limit.Stop()
		for _, done := range pending {
			select {
			case <-done:
			case <-limit.C:
				return
			}
		}
	}
}

// forget has names written again.
func (x *index) forget(names []any) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, name := range names {
		delete(x.names, name.(string))
	}
}

// nextLocked begins a new set.
func (x *index) nextLocked(now time.Time) {
	x.number, x.names = now.Unix()/60, map[string]chan struct{}{}
}

func (x *index) send(name, key string, args ...any) bool {
	c := driver.Native(name, key, args...)
	return x.line.transport.Do(context.Background(), new(transport.Outage), c) == nil && c.Err() == nil
}

// live shows that the Store lives, changes the set, and sweeps, until the Store is closed.
func (x *index) live() {
	swept, first := time.Now(), true
	for alive := true; alive; alive = x.line.gate.Open(lifeInterval) {
		now := time.Now()
		x.mu.Lock()
		last, old := x.number, int64(0)
		if now.Unix()/60 > last {
			x.nextLocked(now)
			old = last - sets + 1
		}
		number := x.number
		x.mu.Unlock()
		x.send("hset", storesKey, x.store, fmt.Sprintf("%d %d", now.Unix(), number))
		if first {
			close(x.shown)
			first = false
		}
		if old > 0 {
			x.send("del", setKey(x.store, old))
		}
		if now.Sub(swept) >= 2*lifeInterval {
			swept = now
			_, _ = x.line.Sweep(context.Background())
		}
	}
	x.mu.Lock()
	stuck, number := len(x.stuck), x.number
	x.mu.Unlock()
	if stuck > 0 { // others go on
		return
	}
	for n := range int64(sets) {
		x.send("del", setKey(x.store, number-n))
	}
	x.send("hdel", storesKey, x.store)
}

// stick remembers a key that this process could not open.
func (x *index) stick(key string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.stuck[key] = true
}

// expect remembers a key that a late take may seal.
func (x *index) expect(key string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.late[key] = time.Now()
}

// left returns the keys that this process has to open.
func (x *index) left() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	names := slices.Collect(maps.Keys(x.stuck))
	clear(x.stuck)
	for name, since := range x.late {
		names = append(names, name)
		if time.Since(since) > deadAfter {
			delete(x.late, name)
		}
	}
	return names
}

// Swept is the result of a Sweep.
type Swept struct {
	Stores    int // processes that have died
	Keys      int // of these, that were looked at
	Opened    int // keys that were still sealed
	Decisions int // that were deleted
}

// Sweep opens the keys that dead processes have left sealed, and a day later deletes their decisions.
func (l *Line) Sweep(ctx context.Context) (s Swept, err error) {
	for _, name := range l.index.left() {
		l.gate.Go(func() {
			if _, err := l.open(context.WithoutCancel(ctx), name); err != nil {
				l.index.stick(name)
			}
		})
	}
	all, err := l.list(ctx, storesKey)
	lives := map[string]string{}
	for i := 0; i+1 < len(all); i += 2 {
		lives[all[i]] = all[i+1]
	}
	for store, life := range lives {
		seen, number, _ := strings.Cut(life, " ")
		at, _ := strconv.ParseInt(seen, 10, 64)
		last, _ := strconv.ParseInt(number, 10, 64)
		age := time.Since(time.Unix(at, 0))
		if strings.HasSuffix(store, opened) || store == l.index.store || age <= deadAfter || err != nil {
			continue
		}
		if lives[store+opened] != life {
			s.Stores++
			if err = l.openStore(ctx, store, last, &s); err == nil {
				l.index.send("hset", storesKey, store+opened, life)
			}
		}
		if err == nil && age > forgetAfter {
			err = l.forgetStore(ctx, store, last, &s)
		}
	}
	return s, err
}

// opened ends the field that has the last sign of life of a dead process once its keys are open.
const opened = " opened"

// openStore opens the keys of a dead process.
func (l *Line) openStore(ctx context.Context, store string, number int64, s *Swept) error {
	for n := range int64(sets) {
		names, err := l.list(ctx, setKey(store, number-n))
		if err != nil {
			return err
		}
		for _, name := range names {
			s.Keys++
			had, err := l.open(ctx, name)
			if err != nil {
				return sweepFailed(ctx, name, err)
			}
			if had {
				s.Opened++
			}
		}
	}
	return nil
}

// forgetStore deletes the decisions and names of a process that has been dead for long. Its keys are open.
func (l *Line) forgetStore(ctx context.Context, store string, number int64, s *Swept) error {
	decisions := map[string]bool{}
	for n := range int64(sets) {
		names, err := l.list(ctx, setKey(store, number-n))
		if err != nil {
			return err
		}
		for _, name := range names {
			decisions[seal.DecisionKey(name)] = true
		}
	}
	for key := range decisions {
		records, err := l.list(ctx, key)
		if err != nil {
			return err
		}
		for i := 0; i+1 < len(records); i += 2 {
			if !strings.HasPrefix(records[i], store+":") {
				continue
			}
			if err := l.end(ctx, key, records[i], records[i+1]); err != nil {
				return sweepFailed(ctx, key, err)
			}
			s.Decisions++
		}
	}
	for n := range int64(sets) {
		if !l.index.send("del", setKey(store, number-n)) {
			return nil // the next sweep goes on
		}
	}
	l.index.send("hdel", storesKey, store, store+opened)
	return nil
}

func sweepFailed(ctx context.Context, key string, err error) error {
	return driver.Fail("sweep", rmw.Key{Name: key}, 0, redisx.Blame(ctx, err))
}

// open waits until a key has no seal, and reports whether it had one. Anything but a seal stays as it is.
func (l *Line) open(ctx context.Context, name string) (had bool, err error) {
	m, err := seal.LookAt(ctx, l.values, name)
	if err != nil || m.State != "tx" {
		return false, err
	}
	return seal.Resolve(ctx, l.values, name, m)
}

// end opens all keys of a decision, and deletes it.
func (l *Line) end(ctx context.Context, key, id, record string) error {
	d, err := seal.ParseRecord(record)
	if err != nil {
		return err
	}
	if left, _ := openAll(ctx, l.transport, d.Keys); len(left) > 0 {
		return fmt.Errorf("%w: %d keys of an update could not be opened", rmw.ErrUnavailable, len(left))
	}
	l.index.send("hdel", key, id)
	return nil
}

// list reads a set or hash of the index.
func (l *Line) list(ctx context.Context, key string) ([]string, error) {
	c := &seal.Call{Script: seal.List, Key: key}
	if err := l.values.Send(ctx, c); err != nil || c.Err != nil {
		return nil, sweepFailed(ctx, key, fmt.Errorf("SMEMBERS or HGETALL in a script: %w", cmp.Or(err, c.Err)))
	}
	list, _ := c.Reply.([]any)
	names := make([]string, len(list))
	for i, v := range list {
		names[i], _ = v.(string)
	}
	return names, nil
}
