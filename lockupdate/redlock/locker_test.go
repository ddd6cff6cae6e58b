package redlock_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lockupdate/redlock"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

const lease = 10 * time.Second // the default, as is nodeTimeout

const nodeTimeout = 200 * time.Millisecond

// N commands to take a lock and N to give it back, and each lock has its expiry.
func TestCost(t *testing.T) {
	withThree(t, func(t *testing.T, f *fixture, p *process) {
		require.NoError(t, p.WithLock(t.Context(), "a", func(context.Context) error {
			synctest.Wait() // the last node
			owners := f.holders("a")
			assert.Equal(t, []string{owners[0], owners[0], owners[0]}, owners)
			for _, n := range f.nodes {
				assert.Equal(t, lease, n.Engine(0).TTL("a"))
			}
			return nil
		}))
		synctest.Wait()
		assert.Equal(t, f.nobody(), f.holders("a"))
		for i, n := range f.nodes {
			assert.Len(t, n.Calls(), 2)
			assert.Equal(t, 1, f.count(i, "SET"))
			assert.Equal(t, 1, f.count(i, "EVALSHA"))
		}
	})
}

// A minority that is down, refuses, or hangs neither prevents nor delays a lock.
func TestOneNodeDown(t *testing.T) {
	eachOutage(t, func(t *testing.T, f *fixture, p *process, down func(command string, nodes ...int)) {
		other := f.open(redlock.Config{})
		down("SET", 2)
		began := time.Now()
		require.NoError(t, p.WithLock(t.Context(), "a", func(ctx context.Context) error {
			assert.Zero(t, time.Since(began), "one that is down delays the others")
			assert.ErrorIs(t, other.TryLock(ctx, "a", nothing), rmw.ErrContended)
			began = time.Now()
			return nil
		}))
		assert.Zero(t, time.Since(began), "one that is down delays the release")
		require.NoError(t, other.TryLock(t.Context(), "a", nothing))
	})
}

// Without a majority the answer is ErrUnavailable, soon, and nothing stays locked.
func TestTwoOfThreeDown(t *testing.T) {
	eachOutage(t, func(t *testing.T, f *fixture, p *process, down func(command string, nodes ...int)) {
		down("SET", 1, 2)
		for _, call := range []func(context.Context, string, func(context.Context) error) error{p.WithLock, p.TryLock} {
			began := time.Now()
			err := call(t.Context(), "a", func(context.Context) error { t.Error("fn was called"); return nil })
			require.ErrorIs(t, err, rmw.ErrUnavailable)
			assert.True(t, rmw.Retryable(err))
			assert.ErrorContains(t, err, "node 1: ")
			assert.LessOrEqual(t, time.Since(began), 2*nodeTimeout)
		}
		synctest.Wait()
		assert.Equal(t, f.nobody(), f.holders("a"))
	})
}

// A timeout of the client must not pass for the end of the caller's ctx.
func TestClientsOwnTimeout(t *testing.T) {
	p := redlock.New([]redlock.Node{slowNode{}}, redlock.Config{})
	err := p.WithLock(t.Context(), "a", nothing)
	require.ErrorIs(t, err, rmw.ErrUnavailable)
	require.NotErrorIs(t, err, context.DeadlineExceeded)
	assert.ErrorContains(t, err, "node 0: context deadline exceeded")
	require.NoError(t, p.Close())
}

type slowNode struct{}

func (slowNode) Process(context.Context, redis.Cmder) error { return context.DeadlineExceeded }

// Servers that forbid the commands will forbid them tomorrow.
func TestForbidden(t *testing.T) {
	withThree(t, func(t *testing.T, f *fixture, p *process) {
		for i := range 2 {
			f.on(i, "SET", proxytest.Fault{Action: proxytest.RefuseWith, Text: "NOPERM this user has no permissions"})
		}
		err := p.WithLock(t.Context(), "a", nothing)
		require.ErrorIs(t, err, rmw.ErrUnsupported)
		assert.False(t, rmw.Retryable(err))
	})
}

// Two who split the votes both give them back and try again, apart from each other.
func TestSplitVotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, 4) // of which neither gets three
		a, b := f.open(redlock.Config{}), f.open(redlock.Config{})
		f.warm(a)
		f.warm(b)
		// Each meets the other's lock on half of the nodes, once.
		for i, n := range f.nodes {
			first := i%2 == 0
			var sets atomic.Int64
			n.Inject(proxytest.Fault{Times: 1, Action: proxytest.Delay, Delay: 10 * time.Millisecond,
				Match: func(args []string) bool { return args[0] == "set" && (sets.Add(1) == 1) == first }})
		}
		var served atomic.Int64
		began := time.Now()
		done := make(chan error, 2)
		for _, p := range []*process{a, b} {
			go func() {
				done <- p.WithLock(t.Context(), "a", func(context.Context) error {
					assert.EqualValues(t, 1, served.Add(1)%2)
					time.Sleep(time.Millisecond)
					served.Add(1)
					return nil
				})
			}()
		}
		require.NoError(t, <-done)
		require.NoError(t, <-done)
		assert.EqualValues(t, 4, served.Load())
		assert.Less(t, time.Since(began), time.Second)
		synctest.Wait()
		assert.Equal(t, f.nobody(), f.holders("a"))
	})
}

// What a failed majority took is free again when the call returns.
func TestFailedMajorityIsGivenBack(t *testing.T) {
	withThree(t, func(t *testing.T, f *fixture, p *process) {
		for _, i := range []int{0, 1} {
			require.NoError(t, f.nodes[i].Engine(0).Set("a", "somebody"))
			f.on(i, "SET", proxytest.Fault{Action: proxytest.DelayReply, Delay: time.Millisecond})
		}
		f.on(2, "EVALSHA", proxytest.Fault{Action: proxytest.Delay, Delay: time.Millisecond})
		err := p.TryLock(t.Context(), "a", nothing)
		require.ErrorIs(t, err, rmw.ErrContended)
		assert.Equal(t, []string{"somebody", "somebody", ""}, f.holders("a"))
		assert.Zero(t, f.count(0, "EVALSHA"), "one that refused has nothing to give back")
	})
}

func TestMaxWait(t *testing.T) {
	withThree(t, func(t *testing.T, f *fixture, p *process) {
		require.NoError(t, p.WithLock(t.Context(), "a", func(ctx context.Context) error {
			began := time.Now()
			err := f.open(redlock.Config{MaxWait: time.Second}).WithLock(ctx, "a", nothing)
			assert.Equal(t, time.Second, time.Since(began))
			assert.ErrorIs(t, err, rmw.ErrContended)
			return nil
		}))
	})
}

// A server that forgets the scripts gets them whole, and only the scripts.
func TestForgottenScripts(t *testing.T) {
	withThree(t, func(t *testing.T, f *fixture, p *process) {
		require.NoError(t, p.WithLock(t.Context(), "a", func(context.Context) error {
			for _, n := range f.nodes {
				require.NoError(t, n.FlushScripts(0))
			}
			time.Sleep(2 * lease) // renewals too
			return nil
		}))
		synctest.Wait()
		assert.Equal(t, f.nobody(), f.holders("a"))
		for i := range f.nodes {
			assert.Equal(t, 2, f.count(i, "EVAL"), "one for each script")
		}
	})
}

// go-redis must not repeat a command by itself.
func TestNothingIsRepeatedByTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, 1)
		var seen []redis.Cmder
		hooked := hookedNode{redis.NewClient(f.nodes[0].Options()), func(cmd redis.Cmder) { seen = append(seen, cmd) }}
		defer hooked.Close()
		p := redlock.New([]redlock.Node{hooked}, redlock.Config{})
		require.NoError(t, p.WithLock(t.Context(), "a", nothing))
		require.NoError(t, p.Close())
		require.Len(t, seen, 3) // SET, EVALSHA, EVAL
		for _, cmd := range seen {
			assert.True(t, cmd.NoRetry(), cmd.Name())
		}
	})
}

type hookedNode struct {
	*redis.Client
	before func(redis.Cmder)
}

func (n hookedNode) Process(ctx context.Context, cmd redis.Cmder) error {
	n.before(cmd)
	return n.Client.Process(ctx, cmd)
}

// A hook of a client that panics is a node that is down.
func TestPanickingHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, 1)
		rdb := redis.NewClient(f.nodes[0].Options())
		defer rdb.Close()
		p := redlock.New([]redlock.Node{hookedNode{rdb, func(redis.Cmder) { panic("boom") }}}, redlock.Config{})
		defer p.Close()
		err := p.WithLock(t.Context(), "a", nothing)
		require.ErrorIs(t, err, rmw.ErrUnavailable)
		assert.ErrorContains(t, err, "panicked: boom")
	})
}
