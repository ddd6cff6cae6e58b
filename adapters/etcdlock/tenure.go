package etcdlock

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

var errLease = errors.New("the lease has ended")

// tenure is the lease of one holder or waiter.
type tenure struct {
	*Locker
	session *concurrency.Session
	ctx     context.Context // ends with the lease at the latest
	stop    context.CancelFunc
	token   uint64
	renewed chan struct{} // closed at the end of renewals
	drop    context.CancelFunc

	mu    sync.Mutex
	until time.Time // the end of the lease
}

// grant requests a lease. It does not wait for other holders, so its limit is the duration of a lease.
func (l *Locker) grant(ctx context.Context) (*tenure, error) {
	asking, cancel := context.WithTimeout(ctx, l.ttl)
	defer cancel()
	sent := l.now()
	lease, err := l.client.Grant(asking, int64(l.ttl/time.Second))
	if err != nil {
		return nil, err
	}
	t := &tenure{Locker: l, renewed: make(chan struct{}), until: sent.Add(l.life())}
	// If its wait ends, a Mutex deletes its key with the client's ctx, which never ends. So it gets a
	// client with a limited ctx.
	whole, drop := context.WithCancel(context.WithoutCancel(ctx))
	own := clientv3.NewCtxClient(whole)
	own.KV, own.Lease, own.Watcher = l.client.KV, l.client.Lease, l.client.Watcher
	t.drop = drop
	if t.session, err = concurrency.NewSession(own, concurrency.WithLease(lease.ID)); err != nil {
		drop()
		return nil, err
	}
	t.ctx, t.stop = context.WithCancel(whole)
	context.AfterFunc(t.ctx, drop)
	go t.renew()
	return t, nil
}

// life is the usable part of a lease.
func (l *Locker) life() time.Duration { return l.ttl - l.ttl/10 }

// renew renews the lease at each third, and ends ctx when it fails until the end of the lease.
func (t *tenure) renew() {
	defer close(t.renewed)
	defer t.stop()
	next := time.NewTimer(t.ttl / 3)
	defer next.Stop()
	for {
		select {
		case <-t.ctx.Done():
			return
		case <-next.C:
		}
		asking, cancel := context.WithTimeout(t.ctx, t.left())
		sent := t.now()
		_, err := t.client.KeepAliveOnce(asking, t.session.Lease())
		cancel()
		switch {
		case err == nil:
			t.mu.Lock()
			t.until = sent.Add(t.life())
			t.mu.Unlock()
			next.Reset(t.ttl / 3)
		case errors.Is(err, rpctypes.ErrLeaseNotFound), t.left() <= 0:
			return
		default:
			next.Reset(min(t.ttl/20, t.left()))
		}
	}
}

// left returns the remaining usable time of the lease.
func (t *tenure) left() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.until.Sub(t.now())
}

// alive reports whether the lease lasts. It reads the clock: after a stall of the process, fn may run
// before renew does.
func (t *tenure) alive() bool {
	if t.left() <= 0 {
		t.stop()
	}
	return t.ctx.Err() == nil
}

// end revokes the lease, so that etcd deletes the lock. If etcd is unreachable, the lock expires with the
// lease.
func (t *tenure) end() {
	t.stop()
	<-t.renewed
	t.session.Orphan()
	t.drop()
	ctx, cancel := context.WithTimeout(context.Background(), t.ttl)
	defer cancel()
	_, _ = t.client.Revoke(ctx, t.session.Lease())
}
