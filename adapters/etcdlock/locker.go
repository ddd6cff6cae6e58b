package etcdlock

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/driver"
	"github.com/unwatch/unwatch/rmw"
)

// Prefix begins all keys. The lock's name follows in hexadecimal: with slashes, one name could be a prefix
// of another. Then follow a slash and the owner.
const Prefix = "/lock/"

// Locker is a [lock.Locker] over etcd. It is safe for concurrent use, and reentrant. Make it with [New].
type Locker struct{ *driver.Locker }

// New makes a Locker over a client, which the caller still owns: close it after the Locker. etcd counts
// leases in whole seconds, so a fraction of cfg.Expiry is rounded up. All calls of a Locker with a Config
// that cannot work return that error.
//
// After a failed dial, gRPC waits for a second before the next, and later for up to two minutes. To keep locks
// over a short outage, let it wait for less than an eighth of a lease: pass grpc.WithConnectParams to the client.
func New(client *clientv3.Client, cfg driver.Config) *Locker {
	cfg = cfg.WithDefaults()
	s := &service{client: client, cfg: cfg, ttl: int64(math.Ceil(cfg.Expiry().Seconds())), busy: make(chan struct{}, 1)}
	s.locker = driver.New(s, driver.Options{Package: "etcdlock", Service: "etcd", Tokens: true}, cfg)
	return &Locker{s.locker}
}

// Guard is the condition that the holding of s has not ended, for a transaction on data in the same etcd. Such
// a transaction needs no token in the data, and is safe from a holder that stalled past its lease:
//
//	seq, err := lock.SequencerOf(ctx)
//	...
//	resp, err := client.Txn(ctx).If(etcdlock.Guard(seq)).Then(clientv3.OpPut(key, value)).Commit()
//	if err == nil && !resp.Succeeded { /* the lock was lost, nothing was written */ }
//
// A Sequencer without an owner or without a token, as another lock service may have it, holds no lock: the
// transaction writes nothing.
func Guard(s lock.Sequencer) clientv3.Cmp {
	created := clientv3.CreateRevision(prefixOf(s.Name) + s.Owner)
	if s.Owner == "" || s.Token == 0 {
		return clientv3.Compare(created, "<", 0) // never: a key that does not exist has revision 0
	}
	return clientv3.Compare(created, "=", int64(s.Token))
}

func prefixOf(name string) string { return Prefix + hex.EncodeToString([]byte(name)) + "/" }

// Acquire implements [driver.Service]. The owners of a lock are keys in the order of their creation, of which
// the first holds the lock.
func (s *service) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	session, err := s.open(ctx, s.cfg.Lease/4)
	if err != nil {
		return driver.Grant{}, s.failed(r, err)
	}
	prefix, key := prefixOf(r.Name), prefixOf(r.Name)+r.Owner
	free := clientv3.Compare(clientv3.CreateRevision(key), "=", 0)
	if !r.Wait { // a key that would have to wait is not created
		free = clientv3.Compare(clientv3.CreateRevision(prefix).WithPrefix(), "=", 0)
	}
	first := clientv3.OpGet(prefix, append(clientv3.WithFirstCreate(), clientv3.WithKeysOnly())...)
	passed := session.passed.Load()
	limited, cancel := context.WithTimeout(ctx, s.cfg.Lease)
	defer cancel()
	resp, err := s.client.Txn(limited).If(free, clientv3.Compare(clientv3.ModRevision(session.barrier), "=", passed)).
		Then(clientv3.OpPut(key, string(r.Data), clientv3.WithLease(session.id)), first).
		Else(clientv3.OpGet(key, clientv3.WithKeysOnly()), first, clientv3.OpGet(session.barrier)).Commit()
	switch {
	case isLeaseGone(err):
		s.drop(session)
		return s.Acquire(ctx, r)
	case err != nil:
		s.doubts.Store(r.Owner, session)
		return driver.Grant{}, s.failed(r, err)
	}
	created := resp.Header.Revision
	if !resp.Succeeded {
		switch barrier := resp.Responses[2].GetResponseRange().Kvs; {
		case len(barrier) > 0 && barrier[0].ModRevision != passed:
			session.passed.Store(barrier[0].ModRevision)
			return s.Acquire(ctx, r)
		case len(barrier) == 0 && passed != 0: // it has ended with its lease
			s.drop(session)
			return s.Acquire(ctx, r)
		}
		own := resp.Responses[0].GetResponseRange().Kvs
		switch {
		case len(own) == 0:
			return driver.Grant{}, rmw.ErrContended
		case own[0].Lease != int64(session.id):
			return driver.Grant{}, s.explain(errPlace)
		}
		created = own[0].CreateRevision
	} else if r.Tries > 0 {
		return driver.Grant{}, s.explain(errPlace)
	}
	switch holder := resp.Responses[1].GetResponseRange().GetKvs(); {
	case holder[0].CreateRevision == created:
		return driver.Grant{Token: uint64(created), Since: *session.since.Load()}, nil
	case !r.Wait:
		return driver.Grant{}, rmw.ErrContended
	}
	return s.wait(ctx, session, r, created)
}

// failed returns the error of a request. A waiter keeps its place as long as the session lasts: the Locker calls
// Acquire again.
func (s *service) failed(r driver.Request, err error) error {
	if err = s.explain(err); errors.Is(err, rmw.ErrClosed) {
		return err
	}
	if r.Tries > 0 && s.session.Load() != nil {
		return rmw.ErrContended
	}
	return err
}

// explain tells whether a request failed because the client was closed: no retry can help.
func (s *service) explain(err error) error {
	if err != nil && s.client.Ctx().Err() != nil {
		return fmt.Errorf("%w: the etcd client was closed; close the Locker first", rmw.ErrClosed)
	}
	return err
}

// wait returns when the key of r is the first one, ctx or the session ends, or a request fails. It watches the key
// before it only, so that a release wakes one process.
func (s *service) wait(ctx context.Context, session *session, r driver.Request, created int64) (driver.Grant, error) {
	ctx, stop := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer stop()
	defer context.AfterFunc(session.ended, stop)()
	before := append(clientv3.WithLastCreate(), clientv3.WithMaxCreateRev(created-1), clientv3.WithKeysOnly())
	for ctx.Err() == nil {
		limited, cancel := context.WithTimeout(ctx, s.cfg.Lease)
		resp, err := s.client.Txn(limited).Then(clientv3.OpGet(prefixOf(r.Name)+r.Owner, clientv3.WithKeysOnly()),
			clientv3.OpGet(prefixOf(r.Name), before...)).Commit()
		cancel()
		if err != nil {
			break
		}
		own, ahead := resp.Responses[0].GetResponseRange().Kvs, resp.Responses[1].GetResponseRange().Kvs
		switch {
		case len(own) == 0 || own[0].CreateRevision != created:
			return driver.Grant{}, s.explain(errPlace)
		case len(ahead) == 0:
			return driver.Grant{Token: uint64(created), Since: *session.since.Load()}, nil
		}
		if !s.deleted(ctx, string(ahead[0].Key), resp.Header.Revision+1) {
			break
		}
	}
	if session.ended.Err() != nil {
		return driver.Grant{}, s.explain(errPlace)
	}
	return driver.Grant{}, rmw.ErrContended
}

// deleted waits until key is deleted, at revision or later. It returns false if the watch fails.
func (s *service) deleted(ctx context.Context, key string, revision int64) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for change := range s.client.Watch(ctx, key, clientv3.WithRev(revision), clientv3.WithFilterPut()) {
		if len(change.Events) > 0 {
			return true
		}
	}
	return false
}

var errPlace = fmt.Errorf("%w: etcd has ended the lease of this process, and with it the place among those that wait", rmw.ErrUnavailable)

// Renew implements [driver.Service]. A key that is older than the session had the lease of an earlier one.
func (s *service) Renew(ctx context.Context, holds []*driver.Hold) error {
	session, err := s.open(ctx, 0)
	if err != nil {
		return err
	}
	for _, h := range holds {
		if !h.Waiting() && h.Token() <= uint64(session.began) {
			h.Lose(lock.LossSession, "etcd has ended the lease")
		}
	}
	return nil
}

// Release implements [driver.Service]. A request for the lock that may yet be executed finds the barrier changed,
// or its lease ended.
func (s *service) Release(ctx context.Context, name, owner string) error {
	key := prefixOf(name) + owner
	if doubted, ok := s.doubts.Load(owner); ok {
		session := doubted.(*session)
		_, err := s.client.Txn(ctx).
			Then(clientv3.OpDelete(key), clientv3.OpPut(session.barrier, "", clientv3.WithLease(session.id))).Commit()
		if err == nil || isLeaseGone(err) {
			s.doubts.Delete(owner)
		}
		if !isLeaseGone(err) {
			return err
		}
	}
	_, err := s.client.Delete(ctx, key)
	return err
}

// Check implements [driver.Checker]. No key for the lock is older than that of the holder.
func (s *service) Check(ctx context.Context, q lock.Sequencer) (held bool, err error) {
	first := clientv3.Compare(clientv3.CreateRevision(prefixOf(q.Name)).WithPrefix(), ">", int64(q.Token)-1)
	resp, err := s.client.Txn(ctx).If(Guard(q), first).Commit()
	return err == nil && resp.Succeeded, s.explain(err)
}

// Inspect implements [driver.Service].
func (s *service) Inspect(ctx context.Context, name string) (lock.Info, error) {
	resp, err := s.client.Get(ctx, prefixOf(name), clientv3.WithFirstCreate()...)
	if err != nil || len(resp.Kvs) == 0 {
		return lock.Info{}, s.explain(err)
	}
	first := resp.Kvs[0]
	info := lock.Info{Held: true, Data: first.Value, Waiters: resp.Count > 1}
	info.Owner, info.Token = strings.TrimPrefix(string(first.Key), prefixOf(name)), uint64(first.CreateRevision)
	lease, err := s.client.TimeToLive(ctx, clientv3.LeaseID(first.Lease))
	if err == nil {
		info.Left = max(time.Duration(lease.TTL)*time.Second, 0)
	}
	return info, err
}
