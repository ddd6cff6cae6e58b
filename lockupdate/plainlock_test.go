package lockupdate_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// plainLock updates a key under a simple lock: SET NX PX, read, commit, and delete the lock if the
// token matches.
type plainLock struct {
	rdb    *redis.Client
	lease  time.Duration
	commit func(ctx context.Context, rdb *redis.Client, lock, token, key, value string) error
}

const (
	getScript   = "return redis.call('GET', KEYS[1])"
	dropScript  = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"
	underScript = "if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('SET', KEYS[2], ARGV[2]) return 1 end return 0"
)

var errNotHeld = errors.New("lock held by another owner")

func (h plainLock) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	lock, token := "{"+key.Name+"}:lock", fmt.Sprint(rand.Uint64())
	for {
		err := h.rdb.SetNX(ctx, lock, token, h.lease).Err()
		if ok, _ := h.rdb.Eval(ctx, getScript, []string{lock}).Text(); err == nil && ok == token {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	was, err := h.rdb.Eval(ctx, getScript, []string{key.Name}).Text()
	if err != nil && !errors.Is(err, redis.Nil) {
		return rmw.Result{}, err
	}
	next, err := fn(ctx, rmw.String(was))
	if err != nil {
		return rmw.Result{}, err
	}
	if err := h.commit(ctx, h.rdb, lock, token, key.Name, next.Text()); err != nil {
		return rmw.Result{}, err
	}
	return rmw.Result{}, h.rdb.Eval(ctx, dropScript, []string{lock}, token).Err()
}

// writeAndUnlock writes and unlocks in one pipeline, which saves a round trip.
func writeAndUnlock(ctx context.Context, rdb *redis.Client, lock, token, key, value string) error {
	_, err := rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.Set(ctx, key, value, 0)
		pipe.Eval(ctx, dropScript, []string{lock}, token)
		return nil
	})
	return err
}

// checkWithGet checks the lock with GET before it writes.
func checkWithGet(ctx context.Context, rdb *redis.Client, lock, token, key, value string) error {
	if held, _ := rdb.Get(ctx, lock).Result(); held != token {
		return errNotHeld
	}
	return rdb.Set(ctx, key, value, 0).Err()
}

// twoKeys checks the lock and writes in one script.
func twoKeys(ctx context.Context, rdb *redis.Client, lock, token, key, value string) error {
	n, err := rdb.Eval(ctx, underScript, []string{lock, key}, token, value).Int()
	if err == nil && n == 0 {
		err = errNotHeld
	}
	return err
}

// writes reports whether a command writes the value: the SET of a plainLock, or a commit.
func writes(args []string) bool {
	return strings.EqualFold(args[0], "SET") && len(args) == 3 || isScript("commit_string")(args)
}

// Each of these plain locks is safe on one Redis, and loses updates behind a proxy. lockupdate
// loses none behind the same proxy.
func TestPlainLocksLoseUpdates(t *testing.T) {
	long.Repeats(t)
	for name, c := range map[string]struct {
		commit  func(ctx context.Context, rdb *redis.Client, lock, token, key, value string) error
		proxy   proxytest.Config
		trouble func(t *testing.T, p *proxytest.Proxy) (end func())
	}{
		"write and unlock in one pipeline, on several connections": {
			commit: writeAndUnlock, proxy: proxytest.Config{Parallel: 4},
			trouble: func(_ *testing.T, p *proxytest.Proxy) (end func()) {
				return p.Inject(proxytest.Fault{Command: "SET", Skip: 1, Times: -1, Action: proxytest.Delay, Delay: 2 * time.Millisecond})
			},
		},
		"ownership by GET, and a delayed SET": {
			commit: checkWithGet,
			trouble: func(_ *testing.T, p *proxytest.Proxy) (end func()) {
				var nth atomic.Int64
				return p.Inject(proxytest.Fault{
					Match:  func(args []string) bool { return writes(args) && nth.Add(1)%5 == 0 },
					Times:  -1,
					Action: proxytest.Delay, Delay: 150 * time.Millisecond,
				})
			},
		},
		"a script on the lock and the data, while slots move": {
			commit: twoKeys, proxy: proxytest.Config{Engines: 2},
			trouble: func(_ *testing.T, p *proxytest.Proxy) (end func()) { return moveSlotRepeatedly(p, "{n}") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.proxy.Profile = proxycompat.Codis32()
			keys := []string{"{n}:data"}
			synctest.Test(t, func(t *testing.T) {
				acked, lost, _ := runWriters(t, c.proxy, keys, 30, c.trouble, func(rdb *redis.Client) rmw.Updater {
					return plainLock{rdb: rdb, lease: 100 * time.Millisecond, commit: c.commit}
				})
				assert.Positive(t, lost, "control: of %d updates none was lost, so this test proves nothing", acked)
			})
			synctest.Test(t, func(t *testing.T) {
				acked, lost, _ := runWriters(t, c.proxy, keys, 30, c.trouble, opener(t, lockupdate.Config{Lease: 100 * time.Millisecond}))
				assert.Equal(t, 120, acked)
				assert.Zero(t, lost)
			})
		})
	}
}

// opener returns a function that opens Stores until the end of the test.
func opener(t *testing.T, cfg lockupdate.Config) func(rdb *redis.Client) rmw.Updater {
	return func(rdb *redis.Client) rmw.Updater {
		s := lockupdate.New(rdb, cfg)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		return s
	}
}

// runWriters has four clients update each key, and counts acknowledged, lost and failed updates.
func runWriters(
	t *testing.T, cfg proxytest.Config, keys []string, each int,
	trouble func(*testing.T, *proxytest.Proxy) (end func()), open func(*redis.Client) rmw.Updater,
) (acked, lost, failed int) {
	t.Helper()
	cfg.InMemory = true
	p, err := proxytest.Start(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	end := trouble(t, p)
	acks := make([]ackLog, len(keys))
	var errs ackLog
	var wg sync.WaitGroup
	for w := range 4 {
		opts := p.Options()
		opts.ReadTimeout = time.Second
		rdb := redis.NewClient(opts)
		t.Cleanup(func() { require.NoError(t, rdb.Close()) })
		s := open(rdb)
		wg.Go(func() {
			for i := range each {
				id, k := fmt.Sprintf("%d-%d,", w, i), i%len(keys)
				_, err := s.Update(t.Context(), rmw.Key{Name: keys[k]}, after(time.Millisecond, appendText(id)))
				if err == nil {
					acks[k].add(id)
				} else {
					errs.add(id)
				}
			}
		})
	}
	wg.Wait()
	end()
	calm := redis.NewClient(p.CalmOptions())
	defer func() { require.NoError(t, calm.Close()) }()
	for k, key := range keys {
		text, err := calm.Get(t.Context(), key).Result()
		require.NoError(t, err)
		a, l := acks[k].audit(text)
		acked, lost = acked+a, lost+l
		for _, id := range acks[k].ids {
			assert.LessOrEqual(t, strings.Count(","+text, ","+id), 1, "stored more than once: %s", id)
		}
	}
	return acked, lost, len(errs.ids)
}

// moveSlotRepeatedly moves the slot of a key between two backends until end.
func moveSlotRepeatedly(p *proxytest.Proxy, key string) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			slot, _ := p.Slot(key)
			m, err := p.MoveSlot(slot, 1-p.BackendOf(key), proxytest.SemiAsync)
			if err != nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
			for more := true; more && err == nil; {
				more, err = m.Step(2 * time.Millisecond)
			}
			_ = m.Finish()
			time.Sleep(5 * time.Millisecond)
		}
	})
	return func() { cancel(); wg.Wait() }
}
