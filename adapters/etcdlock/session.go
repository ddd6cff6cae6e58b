package etcdlock

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unwatch/unwatch/lock/driver"
)

// service is the [driver.Service] of a Locker. All of its locks and waiters have one lease.
type service struct {
	client *clientv3.Client
	cfg    driver.Config
	ttl    int64 // of leases, in seconds
	locker *driver.Locker

	busy    chan struct{} // has a value while a request makes or renews the session
	session atomic.Pointer[session]
	doubts  sync.Map // owners of failed requests that may yet be executed, and the *session of each
}

// session is a lease of etcd.
type session struct {
	id      clientv3.LeaseID
	began   int64 // the revision of etcd when it granted the lease: all keys with the lease are younger
	ended   context.Context
	end     context.CancelFunc
	since   atomic.Pointer[time.Time] // before the last renewal was sent
	barrier string                    // a key with the lease; a request from before its last change fails
	passed  atomic.Int64              // the revision of barrier
}

// open returns the session. It makes one if there is none, and renews one that was not renewed for as long as age.
func (s *service) open(ctx context.Context, age time.Duration) (*session, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Lease)
	defer cancel()
	select {
	case s.busy <- struct{}{}:
		defer func() { <-s.busy }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if current := s.session.Load(); current != nil && s.cfg.Now().Sub(*current.since.Load()) >= age {
		if err := s.keepAlive(ctx, current); err != nil {
			return nil, err
		}
	}
	if current := s.session.Load(); current != nil {
		return current, nil
	}
	since := s.cfg.Now()
	lease, err := s.client.Grant(ctx, s.ttl)
	if err != nil {
		return nil, err
	}
	made := &session{id: lease.ID, began: lease.Revision, barrier: Prefix + "barrier/" + strconv.FormatInt(int64(lease.ID), 16)}
	made.ended, made.end = context.WithCancel(context.Background())
	made.since.Store(&since)
	s.session.Store(made)
	return made, nil
}

// keepAlive prolongs the lease of the session. It ends the session, without an error, if etcd has ended the
// lease, and with one if the lease may have ended meanwhile.
func (s *service) keepAlive(ctx context.Context, session *session) error {
	sent := s.cfg.Now()
	_, err := s.client.KeepAliveOnce(ctx, session.id)
	switch {
	case err == nil:
		session.since.Store(&sent)
	case isLeaseGone(err):
		s.drop(session)
		return nil
	case s.cfg.Now().Sub(*session.since.Load()) >= s.cfg.Lease-s.cfg.Lease/10:
		s.drop(session)
	}
	return err
}

// drop ends the session: its locks are lost, and the waits end.
func (s *service) drop(session *session) {
	session.end()
	s.session.CompareAndSwap(session, nil)
	s.locker.Renew()
}

func isLeaseGone(err error) bool { return errors.Is(err, rpctypes.ErrLeaseNotFound) }
