package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/observe/promunwatch"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// faultyService is a measured service on a real server, behind a relay with faults.
type faultyService struct {
	t        *testing.T
	registry *prometheus.Registry
	server   *servers.Server
	admin    *redis.Client
	relay    *proxytest.Proxy
	locks    *lockupdate.Store
	store    rmw.Store
	stopped  *lockupdate.Store // its server has ended
	safe     chan struct{}
	written  atomic.Int64 // values, each of them new
}

func newFaultyService(t *testing.T) *faultyService {
	t.Helper()
	w := &faultyService{t: t, registry: prometheus.NewRegistry(), server: servers.Redis(t), safe: make(chan struct{}, 1)}
	w.admin = client(t, w.server.Addr)
	var err error
	w.relay, err = proxytest.Start(proxytest.Config{Profile: proxycompat.Redis(), Backends: []string{w.server.Addr}})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, w.relay.Close()) })
	metrics, err := promunwatch.New(w.registry, promunwatch.Config{})
	require.NoError(t, err)
	open := func(opts *redis.Options, path string, cfg lockupdate.Config) *lockupdate.Store {
		rdb := redis.NewClient(opts)
		t.Cleanup(func() { assert.NoError(t, rdb.Close()) })
		s := lockupdate.New(rdb, cfg)
		t.Cleanup(func() { _ = s.Close() })
		require.NoError(t, metrics.Stats(path, s))
		return s
	}
	metered := metrics.Locks("redis")
	observer := func(ctx context.Context, e lock.Event) {
		metered(ctx, e)
		if e.Kind == lock.EventSafe {
			select {
			case w.safe <- struct{}{}:
			default:
			}
		}
	}
	w.locks = open(w.relay.Options(), "lockupdate",
		lockupdate.Config{Lease: 2 * time.Second, Observer: observer, OnEvent: metrics.Events("lockupdate")})
	w.store = rmw.Chain(w.locks, metrics.Updates("lockupdate"))
	ended := servers.Redis(t)
	ended.Stop()
	w.stopped = open(proxycompat.Options(proxycompat.Redis(), ended.Addr), "stopped", lockupdate.Config{MaxOutage: -1})
	return w
}

// update writes a new value. meanwhile runs once, between its read and its commit.
func (w *faultyService) update(key string, meanwhile func()) error {
	n := 0
	_, err := w.store.Update(w.t.Context(), rmw.Key{Name: key}, func(context.Context, rmw.Value) (rmw.Value, error) {
		if n++; n == 1 && meanwhile != nil {
			meanwhile()
		}
		return rmw.String(fmt.Sprintf("by %s, %d", key, w.written.Add(1))), nil
	})
	return err
}

// together writes two keys by one update.
func (w *faultyService) together() {
	left, right := rmw.Key{Name: "left"}, rmw.Key{Name: "right"}
	_, err := rmw.Transact(w.t.Context(), w.store, func(_ context.Context, tx *rmw.Tx) error {
		value := rmw.String(fmt.Sprint(w.written.Add(1)))
		tx.Put(left, value)
		tx.Put(right, value)
		return nil
	}, left, right)
	assert.NoError(w.t, err)
}

// combine has one commit write several updates, and reads the result.
func (w *faultyService) combine() {
	var updates sync.WaitGroup
	assert.NoError(w.t, w.locks.WithLock(w.t.Context(), "busy", func(context.Context) error {
		for range 3 {
			updates.Go(func() { assert.NoError(w.t, w.update("busy", nil)) })
		}
		return nil
	}))
	updates.Wait()
	_, err := w.store.Read(w.t.Context(), rmw.Key{Name: "busy"})
	assert.NoError(w.t, err)
}

func (w *faultyService) loseLock() {
	assert.ErrorIs(w.t, w.locks.WithLock(w.t.Context(), "taken", func(ctx context.Context) error {
		assert.NoError(w.t, w.admin.Del(ctx, "/lock/taken").Err())
		<-ctx.Done()
		return nil
	}), rmw.ErrLockLost)
}

func (w *faultyService) loseReply() {
	assert.NoError(w.t, w.admin.Del(w.t.Context(), "unanswered").Err()) // an equal value would not be written
	w.relay.Inject(proxytest.Fault{
		Match: func(args []string) bool { return strings.Contains(strings.Join(args, " "), "by unanswered") }, Action: proxytest.DropReply,
	})
	assert.ErrorIs(w.t, w.update("unanswered", nil), rmw.ErrOutcomeUnknown)
}

func (w *faultyService) refuseRenewal() {
	assert.NoError(w.t, w.locks.WithLock(w.t.Context(), "late", func(ctx context.Context) error {
		w.relay.Inject(proxytest.Fault{
			Command: "EVALSHA", Match: func(args []string) bool { return slices.Contains(args, "/lock/late") },
			Action: proxytest.RefuseWith, Text: "ERR handle response, backend conn reset",
		})
		select { // of an earlier lock
		case <-w.safe:
		default:
		}
		select {
		case <-w.safe:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}))
}

// waitLong has a call wait for longer than the second after which its Observer is told.
func (w *faultyService) waitLong() {
	assert.NoError(w.t, w.locks.WithLock(w.t.Context(), "hot", func(ctx context.Context) error {
		waiting, cancel := context.WithTimeout(w.t.Context(), 3*time.Second)
		defer cancel()
		assert.ErrorIs(w.t, w.locks.WithLock(waiting, "hot", func(context.Context) error { return nil }), rmw.ErrContended)
		return nil
	}))
}

func (w *faultyService) conflict() {
	assert.NoError(w.t, w.update("shared", func() {
		assert.NoError(w.t, w.admin.Set(w.t.Context(), "shared", "by a program without the lock", 0).Err())
	}))
}

// outage keeps the circuit breaker open until ctx ends: after a second, the breaker lets one call try again.
func (w *faultyService) outage(ctx context.Context) {
	every := time.NewTicker(50 * time.Millisecond)
	defer every.Stop()
	for ctx.Err() == nil {
		err := w.stopped.WithLock(ctx, "k", func(context.Context) error { return errors.New("a lock without a server") })
		assert.True(w.t, ctx.Err() != nil || errors.Is(err, rmw.ErrUnavailable), "%v", err)
		select {
		case <-every.C:
		case <-ctx.Done():
		}
	}
}

// unreachable is a path that cannot be reached while away is true.
type unreachable struct {
	rmw.Store

	away *atomic.Bool
}

func (u unreachable) Unwrap() rmw.Store { return u.Store }

func (u unreachable) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	if u.away.Load() {
		return rmw.Result{}, &rmw.Error{Reason: rmw.ErrUnavailable}
	}
	return u.Store.Update(ctx, key, fn)
}
