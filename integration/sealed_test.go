package integration

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/sealed"
)

// market has accounts that are updated together all the time. Each value is a version and the number of the run of fn.
type market struct {
	t       *testing.T
	ctx     context.Context
	runs    atomic.Int64
	running sync.WaitGroup

	mu        sync.Mutex
	committed map[string]bool // "key=value"
	read      map[string]bool
}

const marketKeys = 4

func marketKey(i int) rmw.Key {
	k := rmw.Key{Name: fmt.Sprintf("market:%d", i)}
	if i%2 == 1 {
		k.Kind = rmw.KindHash
	}
	return k
}

// update updates two accounts together until ctx ends.
func (m *market) update(store rmw.Store, first int) {
	keys := []rmw.Key{marketKey(first % marketKeys), marketKey((first + 1) % marketKeys)}
	for m.ctx.Err() == nil {
		res, err := rmw.Transact(context.WithoutCancel(m.ctx), store, func(_ context.Context, tx *rmw.Tx) error {
			run := m.runs.Add(1)
			for _, key := range keys {
				v := tx.Get(key)
				old, _ := v.Field("v")
				if key.Kind == rmw.KindString {
					old = v.Text()
				}
				next := fmt.Sprintf("%d %d", version(old)+1, run)
				if key.Kind == rmw.KindString {
					tx.Put(key, rmw.String(next))
				} else {
					tx.Put(key, v.With("v", next))
				}
			}
			return nil
		}, keys...)
		if !assert.NoError(m.t, err) {
			return
		}
		m.mu.Lock()
		for _, c := range res.Changes {
			text, _ := c.After.Field("v")
			if c.Key.Kind == rmw.KindString {
				text = c.After.Text()
			}
			m.committed[c.Key.Name+"="+text] = true
		}
		m.mu.Unlock()
	}
}

func version(text string) int {
	number, _, _ := strings.Cut(text, " ")
	n, _ := strconv.Atoi(number)
	return n
}

// follow reads all accounts until ctx ends, alone, in pipelines and by MGET. No account may go back.
func (m *market) follow(rdb redis.UniversalClient) (reads, refused int) {
	var last [marketKeys]int
	note := func(i int, text string, err error) {
		reads++
		if redisx.IsWrongType(err) {
			refused++
			return
		}
		if !assert.NoError(m.t, err) {
			return
		}
		m.mu.Lock()
		m.read[marketKey(i).Name+"="+text] = true
		m.mu.Unlock()
		assert.GreaterOrEqual(m.t, version(text), last[i], "%v goes back", i)
		last[i] = version(text)
	}
	ctx := context.WithoutCancel(m.ctx)
	for n := 0; m.ctx.Err() == nil; n++ {
		get := func(c redis.Cmdable, i int) *redis.StringCmd {
			if i%2 == 1 {
				return c.HGet(ctx, marketKey(i).Name, "v")
			}
			return c.Get(ctx, marketKey(i).Name)
		}
		switch n % 3 {
		case 0:
			for i := range marketKeys {
				text, err := get(rdb, i).Result()
				note(i, text, err)
			}
		case 1:
			var cmds []*redis.StringCmd
			_, _ = rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
				for i := range marketKeys {
					cmds = append(cmds, get(pipe, i))
				}
				return nil
			})
			for i, cmd := range cmds {
				note(i, cmd.Val(), cmd.Err())
			}
		default:
			for i := 0; i < marketKeys; i += 2 {
				list, err := rdb.MGet(ctx, marketKey(i).Name).Result()
				if assert.NoError(m.t, err) && list[0] == nil {
					refused++
				} else {
					text, _ := list[0].(string)
					note(i, text, err)
				}
			}
			for i := range marketKeys {
				assert.EqualValues(m.t, 1, rdb.Exists(ctx, marketKey(i).Name).Val())
				assert.EqualValues(m.t, -1, rdb.TTL(ctx, marketKey(i).Name).Val())
			}
		}
	}
	return reads, refused
}

// Plain readers with the hook read committed values beside constant updates of several keys. Without it they are refused.
func TestPlainReadersBesideTransact(t *testing.T) {
	for name, topology := range map[string]func(t *testing.T) redis.UniversalClient{
		"redis": func(t *testing.T) redis.UniversalClient {
			return redis.NewClient(&redis.Options{Addr: servers.Redis(t).Addr})
		},
		"nutcracker": func(t *testing.T) redis.UniversalClient {
			proxy := servers.Nutcracker(t, []string{servers.Redis(t).Addr, servers.Redis(t).Addr}, 1)
			return redis.NewClient(proxycompat.Options(proxycompat.Twemproxy05(), proxy.Addr))
		},
		"cluster": func(t *testing.T) redis.UniversalClient {
			var addrs []string
			for _, s := range servers.Cluster(t, 3) {
				addrs = append(addrs, s.Addr)
			}
			return redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs})
		},
	} {
		t.Run(name, func(t *testing.T) {
			rdb := topology(t)
			t.Cleanup(func() { assert.NoError(t, rdb.Close()) })
			store := lockupdate.New(rdb, lockupdate.Config{})
			for _, hooked := range []bool{false, true} { // the hook stays
				if hooked {
					rdb.AddHook(sealed.NewHook(rdb))
				}
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				m := &market{t: t, ctx: ctx, committed: map[string]bool{}, read: map[string]bool{}}
				for i := range marketKeys {
					key := marketKey(i)
					res, err := store.Update(t.Context(), key, func(context.Context, rmw.Value) (rmw.Value, error) {
						if key.Kind == rmw.KindHash {
							return rmw.Hash(map[string]string{"v": "0 0"}), nil
						}
						return rmw.String("0 0"), nil
					})
					require.NoError(t, err)
					require.True(t, res.After.Exists())
					m.committed[key.Name+"=0 0"] = true
				}
				for g := range 8 {
					m.running.Go(func() { m.update(store, g) })
				}
				reads, refused := m.follow(rdb)
				cancel()
				m.running.Wait()
				t.Logf("hook %v: %d reads, %d refused, %d values committed, %d read", hooked, reads, refused, len(m.committed), len(m.read))
				for value := range m.read {
					assert.True(t, m.committed[value], "%s was never committed", value)
				}
				if hooked {
					assert.Zero(t, refused)
					assert.Greater(t, len(m.read), 10)
				} else {
					assert.NotZero(t, refused, "negative control")
				}
			}
			assert.NoError(t, store.Close())
		})
	}
}
