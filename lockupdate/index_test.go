package lockupdate_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/rmw"
)

// A record says which room it is in, and the index of that room has an entry of the record: a member of a sorted set, whose
// score is the stamp. The index may have entries of records elsewhere, but the entry of a record is never missing.

// snippet:scripts
var (
	addEntry = redis.NewScript(`
local stamp = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not stamp or tonumber(stamp) < tonumber(ARGV[2]) then
  redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
end
return 1`)

	removeEntry = redis.NewScript(`
local stamp = redis.call('ZSCORE', KEYS[1], ARGV[1])
if stamp and tonumber(stamp) <= tonumber(ARGV[2]) then
  redis.call('ZREM', KEYS[1], ARGV[1])
end
return 1`)
)

// endsnippet

// place is the content of a record. Each move raises the version.
type place struct {
	room    string
	version int
}

var errMoved = errors.New("moved by another writer")

// mover moves one record between rooms. step is called before each command. A negative control leaves out a rule.
type mover struct {
	store   *lockupdate.Store
	rdb     *redis.Client
	id      string
	step    func(what string)
	control string
}

func index(room string) string { return "index:" + room }

func (m *mover) key() rmw.Key { return rmw.Key{Name: "record:" + m.id} }

func placeOf(v rmw.Value) (p place) {
	p.room, _, _ = strings.Cut(v.Text(), " ")
	_, version, _ := strings.Cut(v.Text(), " ")
	p.version, _ = strconv.Atoi(version)
	return p
}

func (p place) value() rmw.Value { return rmw.String(fmt.Sprintf("%s %d", p.room, p.version)) }

// snippet:move
func (m *mover) move(ctx context.Context, to string) error {
	for {
		now, err := m.read(ctx)
		if err != nil || now.room == to {
			return err
		}
		if err := m.add(ctx, to, now.version+1); err != nil { // rule 1
			return err
		}
		switch err := m.commit(ctx, now, place{to, now.version + 1}); { // rule 2
		case err == nil:
			return m.remove(ctx, now.room, now.version) // rule 3
		case !errors.Is(err, errMoved):
			return err // perhaps ErrOutcomeUnknown: remove nothing, reap does
		}
	}
}

func (m *mover) commit(ctx context.Context, was, next place) error {
	m.step("commit")
	_, err := m.store.Update(ctx, m.key(), func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		if placeOf(cur) != was {
			return cur, errMoved
		}
		return next.value(), nil
	})
	return err
}

// reap removes an entry that a crash, or a refused commit, left in a room.
func (m *mover) reap(ctx context.Context, room string) error {
	stamp, err := m.stamp(ctx, room)
	if err != nil {
		return err
	}
	now, err := m.read(ctx)
	if err != nil || now.room == room {
		return err
	}
	if stamp > now.version { // rule 4: a commit with this stamp may be on its way
		if err := m.raise(ctx, now, stamp); err != nil {
			return err
		}
	}
	return m.remove(ctx, room, stamp) // rule 3
}

// endsnippet

// plain moves the record without versions: entry, record, old entry.
func (m *mover) plain(ctx context.Context, to string) error {
	m.step("add")
	if err := m.rdb.ZAdd(ctx, index(to), redis.Z{Member: m.id}).Err(); err != nil {
		return err
	}
	m.step("commit")
	var was place
	_, err := m.store.Update(ctx, m.key(), func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		was = placeOf(cur)
		return place{to, was.version + 1}.value(), nil
	})
	if err != nil || was.room == to {
		return err
	}
	m.step("remove")
	return m.rdb.ZRem(ctx, index(was.room), m.id).Err()
}

// transact moves the record in a transaction, and writes the version and the stamp, too.
func (m *mover) transact(ctx context.Context, to string) error {
	for {
		m.step("watch")
		err := m.rdb.Watch(ctx, func(tx *redis.Tx) error {
			text, err := tx.Get(ctx, m.key().Name).Result()
			now := placeOf(rmw.String(text))
			if err != nil || now.room == to {
				return err
			}
			m.step("exec")
			_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
				next := place{to, now.version + 1}
				pipe.Set(ctx, m.key().Name, next.value().Text(), redis.KeepTTL)
				pipe.ZAdd(ctx, index(to), redis.Z{Score: float64(next.version), Member: m.id})
				return pipe.ZRem(ctx, index(now.room), m.id).Err()
			})
			return err
		}, m.key().Name)
		if !errors.Is(err, redis.TxFailedErr) {
			return err
		}
	}
}

func (m *mover) raise(ctx context.Context, now place, version int) error {
	if m.control == "reap without a raise" {
		return nil
	}
	return m.commit(ctx, now, place{now.room, version})
}

func (m *mover) read(ctx context.Context) (place, error) {
	m.step("read")
	v, err := m.store.Read(ctx, m.key())
	return placeOf(v), err
}

func (m *mover) stamp(ctx context.Context, room string) (int, error) {
	m.step("stamp")
	stamp, err := m.rdb.ZScore(ctx, index(room), m.id).Result()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	return int(stamp), err
}

func (m *mover) add(ctx context.Context, room string, stamp int) error {
	m.step("add")
	if m.control == "not the later stamp" {
		return m.rdb.ZAdd(ctx, index(room), redis.Z{Score: float64(stamp), Member: m.id}).Err()
	}
	return addEntry.Run(ctx, m.rdb, []string{index(room)}, m.id, stamp).Err()
}

func (m *mover) remove(ctx context.Context, room string, version int) error {
	m.step("remove")
	if m.control == "unconditional removal" {
		return m.rdb.ZRem(ctx, index(room), m.id).Err()
	}
	return removeEntry.Run(ctx, m.rdb, []string{index(room)}, m.id, version).Err()
}

// missing returns what is wrong: the room of the record has no entry of it.
func (m *mover) missing(ctx context.Context) (string, error) {
	v, err := m.store.Read(ctx, m.key())
	if err != nil {
		return "", err
	}
	p := placeOf(v)
	err = m.rdb.ZScore(ctx, index(p.room), m.id).Err()
	if errors.Is(err, redis.Nil) {
		return fmt.Sprintf("the record is %s at version %d, without an entry", p.room, p.version), nil
	}
	return "", err
}

// game is a record in room A, and actors that move or reap it.
func (f *fixture) game(control string, prefix []int, actors ...func(ctx context.Context, m *mover) error) (int, error) {
	games := 0
	return orders(f.t, prefix, func(step func(int) func(string)) (all []func() error, check func() error) {
		games++
		ctx, id := f.t.Context(), strconv.Itoa(games)
		first := &mover{f.store, f.rdb, id, func(string) {}, control}
		require.NoError(f.t, first.add(ctx, "A", 0))
		_, err := f.store.Update(ctx, first.key(), put(place{"A", 0}.value().Text()))
		require.NoError(f.t, err)
		for i, act := range actors {
			m := &mover{f.store, f.rdb, id, step(i), control}
			all = append(all, func() error {
				if err := act(ctx, m); err != nil && !errors.Is(err, errMoved) {
					return err
				}
				return nil
			})
		}
		return all, func() error {
			wrong, err := first.missing(ctx)
			if wrong != "" {
				err = errors.Join(err, errors.New(wrong))
			}
			return err
		}
	})
}

// The rules hold in every order of the commands of two processes. Without one of them, some order loses the entry.
func TestIndexOfMovingEntries(t *testing.T) {
	type actor = func(ctx context.Context, m *mover) error
	to := func(rooms ...string) actor {
		return func(ctx context.Context, m *mover) (err error) {
			for _, room := range rooms {
				err = errors.Join(err, m.move(ctx, room))
			}
			return err
		}
	}
	plain := func(room string) actor {
		return func(ctx context.Context, m *mover) error { return m.plain(ctx, room) }
	}
	transact := func(room string) actor {
		return func(ctx context.Context, m *mover) error { return m.transact(ctx, room) }
	}
	reap := func(ctx context.Context, m *mover) error { return m.reap(ctx, "C") }
	// A slow process adds its entry between the entry of another one and a late removal.
	overtaken := []int{0, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 0, 1}
	for name, test := range map[string]struct {
		control string
		prefix  []int
		actors  []actor
		breaks  bool
	}{
		"there and back":           {"", nil, []actor{to("B"), to("A")}, false},
		"two targets":              {"", nil, []actor{to("B"), to("C")}, false},
		"overtaken":                {"", overtaken, []actor{to("B"), to("B", "A"), to("B")}, false},
		"a reaper":                 {"", nil, []actor{reap, to("C")}, false},
		"beside a transaction":     {"", nil, []actor{to("B"), transact("C")}, false},
		"beside transactions":      {"", nil, []actor{transact("B"), to("A"), transact("A")}, false},
		"without stamps":           {"", nil, []actor{plain("B"), plain("A")}, true},
		"unconditional removal":    {"unconditional removal", nil, []actor{to("B"), to("A")}, true},
		"not the later stamp":      {"not the later stamp", overtaken, []actor{to("B"), to("B", "A"), to("B")}, true},
		"reap without a new stamp": {"reap without a raise", nil, []actor{reap, to("C")}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				profile := proxycompat.Codis32()
				if strings.HasPrefix(name, "beside") {
					profile = proxycompat.Redis()
				}
				f := newFixtureOn(t, profile, lockupdate.Config{})
				n, err := f.game(test.control, test.prefix, test.actors...)
				t.Logf("%d orders: %v", n, err)
				if test.breaks {
					require.ErrorContains(t, err, "without an entry")
				} else {
					require.NoError(t, err)
				}
			})
		})
	}
}
