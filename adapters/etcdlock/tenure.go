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

// tenure is the lease of one holder, or of one who waits.
type tenure struct {
	*Locker
	session *concurrency.Session
	ctx     context.Context // ends with the lease, at the latest
	stop    context.CancelFunc
	token   uint64
	renewed chan struct{} // closed when nobody renews it any more
	drop    context.CancelFunc

	mu    sync.Mutex
	until time.Time // when the lease counts as ended
}

// grant asks for a lease. It does not wait for other holders, so it may take as long as one.
func (l *Locker) grant(ctx context.Context) (*tenure, error) {
	asking, cancel := context.WithTimeout(ctx, l.ttl)
	defer cancel()
	sent := l.now()
	lease, err := l.client.Grant(asking, int64(l.ttl/time.Second))
	if err != nil {
		return nil, err
	}
	t := &tenure{Locker: l, renewed: make(chan struct{}), until: sent.Add(l.life())}
	// A Mutex whose wait has ended deletes its key by the client's own ctx, which would be
	// without an end: so it gets a client with one that ends.
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

// life is how much of a lease is used.
func (l *Locker) life() time.Duration { return l.ttl - l.ttl/10 }

// renew prolongs the lease at thirds, and ends ctx when that was not possible in time.
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

// left is for how long the lease can be used.
func (t *tenure) left() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.until.Sub(t.now())
}

// alive reports whether the holder still has it. It looks at the clock itself: after a stop of the
// process, fn may run before renew does.
func (t *tenure) alive() bool {
	if t.left() <= 0 {
		t.stop()
	}
	return t.ctx.Err() == nil
}

// end gives the lease back, and with it the lock: etcd deletes what belongs to it. If it cannot
// be asked, it does so when the lease has ended by itself.
func (t *tenure) end() {
	t.stop()
	<-t.renewed
	t.session.Orphan()
	t.drop()
	ctx, cancel := context.WithTimeout(context.Background(), t.ttl)
	defer cancel()
	_, _ = t.client.Revoke(ctx, t.session.Lease())
}
