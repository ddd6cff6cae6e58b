package rewrite_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rewrite/testdata/twins/after"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rewrite/testdata/twins/before"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// call is a function of either package, with its input.
type call func(ctx context.Context, rdb *redis.Client, store rmw.Store, key string) error

const key = "k"

// The client logs each expiry below a millisecond, and the tests have many.
func TestMain(m *testing.M) {
	logging.Disable()
	m.Run()
}

// scene is the state before a call of a function.
type scene struct {
	name string
	put  func(m *miniredis.Miniredis)
	ttl  time.Duration
	in   before.Input
	done bool // its ctx has ended
}

// scenes combines values, expiries, and inputs.
func scenes() (all []scene) {
	puts := map[string]func(m *miniredis.Miniredis){
		"absent": nil,
		"list":   func(m *miniredis.Miniredis) { _, _ = m.Push(key, "x") },
	}
	for _, text := range []string{"", "0", "1", "7", "-3", "101", "4294967295", "99999999999999999999", "1.25", "1e400", "true", " 7",
		"abc", "refuse", "{", `{"count":4,"seen":["a"]}`, "a\x00b\xff", strings.Repeat("long", 20)} {
		puts[fmt.Sprintf("string %.12q", text)] = func(m *miniredis.Miniredis) { _ = m.Set(key, text) }
	}
	for i, fields := range []map[string]string{
		{"f": "4"}, {"f": ""}, {"g": "1"}, {"f": "abc", "by": "x"}, {"f": "refuse", "g": "1", "h": "2"}, {"by": "y", "f": "x"},
	} {
		puts["hash "+strconv.Itoa(i)] = func(m *miniredis.Miniredis) {
			for f, v := range fields {
				m.HSet(key, f, v)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(puts)) {
		for i, in := range []before.Input{
			{Text: "abc", N: 3, Field: "f"}, {Text: "", N: 0, Field: "f", TTL: redis.KeepTTL},
			{Text: "refuse", N: -8, Field: "", TTL: time.Hour},
			{Text: "\xff\x00", N: 1, Field: "g", TTL: 300 * time.Microsecond}, {Text: "1", Field: "f", TTL: -5},
		} {
			left := time.Duration((i+len(all))%2) * 90 * time.Second
			all = append(all, scene{fmt.Sprintf("%s, expiry %v, %+v", name, left, in), puts[name], left, in, false})
		}
	}
	return append(all, scene{name: "ctx has ended", in: before.Input{Text: "x", N: 1, Field: "f"}, done: true})
}

// server is a Redis with two Stores.
type server struct {
	*miniredis.Miniredis
	rdb    *redis.Client
	stores map[string]rmw.Store
}

func serve(t *testing.T) *server {
	m := miniredis.RunT(t)
	rdb := redis.NewClient(&redis.Options{Addr: m.Addr(), DisableIdentity: true})
	old, next := cas.New(rdb, cas.Config{}), lockupdate.New(rdb, lockupdate.Config{})
	t.Cleanup(func() {
		_ = old.Close()
		_ = next.Close()
		_ = rdb.Close()
	})
	return &server{m, rdb, map[string]rmw.Store{"cas": old, "lockupdate": next}}
}

// play plays a scene and describes the error and the stored values.
func (s *server) play(f call, sc scene, store rmw.Store) string {
	s.FlushAll()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if sc.done {
		cancel()
	}
	if sc.put != nil {
		sc.put(s.Miniredis)
		if sc.ttl > 0 {
			s.SetTTL(key, sc.ttl)
		}
	}
	err := f(ctx, s.rdb, store, key)
	for errors.Is(err, redis.TxFailedErr) { // as the callers of a Watch do
		err = f(ctx, s.rdb, store, key)
	}
	return fmt.Sprintf("%s\n%s", class(err), s.dump())
}

// dump describes all keys, except locks.
func (s *server) dump() string {
	var b strings.Builder
	for _, name := range s.Keys() {
		if strings.HasPrefix(name, "/lock/") {
			continue
		}
		fmt.Fprintf(&b, "%s: %s expires %v: ", name, s.Type(name), s.TTL(name))
		switch s.Type(name) {
		case "string":
			v, _ := s.Get(name)
			fmt.Fprintf(&b, "%q\n", v)
		case "hash":
			fields, _ := s.HKeys(name)
			for _, f := range fields {
				fmt.Fprintf(&b, "%q=%q ", f, s.HGet(name, f))
			}
			b.WriteByte('\n')
		default:
			v, _ := s.List(name)
			fmt.Fprintf(&b, "%q\n", v)
		}
	}
	return b.String()
}

// class describes an error by the known errors that callers may compare it with.
func class(err error) string {
	var all []string
	for _, known := range []error{redis.Nil, before.ErrRefused, after.ErrRefused, strconv.ErrSyntax, strconv.ErrRange, context.Canceled} {
		if errors.Is(err, known) {
			all = append(all, known.Error())
		}
	}
	if err != nil && (errors.Is(err, rmw.ErrWrongKind) || strings.Contains(err.Error(), "WRONGTYPE")) {
		all = append(all, "wrong kind")
	}
	if err != nil && len(all) == 0 {
		all = append(all, "another error: "+err.Error())
	}
	return fmt.Sprint(err == nil, all)
}

// differences plays all scenes with both functions.
func differences(t *testing.T, was, is func(in before.Input) call) (found []string) {
	a, b := serve(t), serve(t)
	for n, sc := range scenes() {
		want := a.play(was(sc.in), sc, nil)
		for name, store := range b.stores {
			if name == "lockupdate" && n%3 != 0 && !sc.done { // the contract makes them alike
				continue
			}
			if got := b.play(is(sc.in), sc, store); got != want {
				found = append(found, fmt.Sprintf("%s, %s:\nwas %s\nis  %s", sc.name, name, want, got))
			}
		}
	}
	return found
}

func ofBefore(name string) func(in before.Input) call {
	return func(in before.Input) call {
		return func(ctx context.Context, rdb *redis.Client, store rmw.Store, key string) error {
			return before.New(rdb, store).Funcs()[name](ctx, key, in)
		}
	}
}

func ofAfter(name string) func(in before.Input) call {
	return func(in before.Input) call {
		return func(ctx context.Context, rdb *redis.Client, store rmw.Store, key string) error {
			return after.New(rdb, store).Funcs()[name](ctx, key, after.Input(in))
		}
	}
}

func TestStoredValueAndErrorStay(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(new(before.Service).Funcs())) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, d := range differences(t, ofBefore(name), ofAfter(name)) {
				t.Error(d)
			}
		})
	}
}

// Negative control: the scenes tell wrong rewrites from the original functions.
func TestDifferencesFindWrongRewrites(t *testing.T) {
	update := func(fn func(cur rmw.Value, in before.Input) (rmw.Value, error)) func(in before.Input) call {
		return func(in before.Input) call {
			return func(ctx context.Context, _ *redis.Client, store rmw.Store, key string) error {
				_, err := store.Update(ctx, rmw.Key{Name: key}, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
					return fn(cur, in)
				})
				return err
			}
		}
	}
	for name, c := range map[string]struct {
		was string
		is  func(in before.Input) call
	}{
		"the expiry is forgotten": {"expiring", update(func(cur rmw.Value, _ before.Input) (rmw.Value, error) {
			if !cur.Exists() {
				return cur, redis.Nil
			}
			return rmw.String(cur.Text()), nil
		})},
		"0 is taken for no change of the expiry": {"increment", update(func(cur rmw.Value, in before.Input) (rmw.Value, error) {
			n, err := strconv.Atoi(cur.Text())
			if err != nil && cur.Exists() {
				return cur, err
			}
			return rmw.String(strconv.Itoa(n + in.N)), nil
		})},
		"an absent key is no error": {"take", update(func(cur rmw.Value, in before.Input) (rmw.Value, error) {
			if cur.Text() != in.Text {
				return cur, before.ErrRefused
			}
			return rmw.Value{}, nil
		})},
		"a text that is no number is 0": {"increment", update(func(cur rmw.Value, in before.Input) (rmw.Value, error) {
			n, _ := strconv.Atoi(cur.Text())
			return rmw.String(strconv.Itoa(n + in.N)).WithTTL(rmw.NoTTL), nil
		})},
		"nil is returned with nothing": {"claim", update(func(cur rmw.Value, in before.Input) (rmw.Value, error) {
			if cur.Text() == in.Text {
				return rmw.Value{}, nil
			}
			if cur.Text() == "refuse" {
				return cur, before.ErrRefused
			}
			return rmw.String(in.Text).WithTTL(1500 * time.Millisecond), nil
		})},
		"a float with another form": {"addFloat", update(func(cur rmw.Value, in before.Input) (rmw.Value, error) {
			f, err := strconv.ParseFloat(cur.Text(), 64)
			if !cur.Exists() {
				f = 0.5
			} else if err != nil {
				return cur, err
			}
			return rmw.String(fmt.Sprintf("%.3f", f+float64(in.N))), nil
		})},
	} {
		t.Run(name, func(t *testing.T) {
			require.NotEmpty(t, differences(t, ofBefore(c.was), c.is))
		})
	}
}

// interloper writes once, after the key was read.
type interloper struct {
	write func()
	once  *sync.Once
}

func (interloper) DialHook(next redis.DialHook) redis.DialHook { return next }
func (i interloper) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		switch cmd.Name() {
		case "get", "hget", "hgetall":
			i.once.Do(i.write)
		}
		return err
	}
}
func (interloper) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// After a conflict with another client, callers try again, and get the same result. An update that writes
// the stored value has no conflict: it may have come before the other client.
func TestConflictKeepsResult(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(new(before.Service).Funcs())) {
		if strings.HasPrefix(name, "look") { // it ends before the other client writes
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var results [2]string
			for n, sc := range scenes() {
				if sc.done || sc.put == nil || n%11 != 0 { // eleven, as there are five inputs
					continue
				}
				for i, f := range []call{ofBefore(name)(sc.in), ofAfter(name)(sc.in)} {
					s := serveOnce(t)
					s.rdb.AddHook(interloper{s.another, new(sync.Once)})
					results[i] = s.play(f, sc, s.stores["cas"])
					s.close()
				}
				require.Equal(t, results[0], results[1], sc.name)
			}
		})
	}
}

// another writes a value of the same kind, as another client.
func (s *server) another() {
	switch s.Type(key) {
	case "hash":
		s.HSet(key, "f", "77")
	case "string":
		_ = s.Set(key, "5")
	}
}

// serveOnce is serve for one scene only.
func serveOnce(t *testing.T) *server {
	m, err := miniredis.Run()
	require.NoError(t, err)
	rdb := redis.NewClient(&redis.Options{Addr: m.Addr(), DisableIdentity: true})
	return &server{m, rdb, map[string]rmw.Store{"cas": cas.New(rdb, cas.Config{})}}
}

func (s *server) close() {
	_ = s.rdb.Close()
	s.Close()
}

// Concurrent updates are not lost, as with the retry loop.
func TestConcurrentUpdatesAreKept(t *testing.T) {
	for _, store := range []string{"cas", "lockupdate"} {
		for _, f := range []func(before.Input) call{ofBefore("retried"), ofAfter("retried")} {
			s := serve(t)
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					for range 10 {
						if err := f(before.Input{})(t.Context(), s.rdb, s.stores[store], key); err != nil {
							t.Error(err)
						}
					}
				})
			}
			all.Wait()
			require.Contains(t, s.dump(), `"80"`, store)
		}
	}
}
