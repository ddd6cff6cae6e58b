package torture

import (
	"context"
	"errors"
	"slices"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/unwatch/unwatch/adapters/etcdlock"
	"github.com/unwatch/unwatch/lock/driver"
	"github.com/unwatch/unwatch/lockupdate/redlock"
	"github.com/unwatch/unwatch/rmw"
)

// Remedy is a mitigation for the losses of Redis itself, with the places where it is measured. Losses under
// a remedy fail no run, unless it is lossless.
type Remedy struct {
	Name  string
	About string
	Where []Place

	open     func(s *Site, process int) (rmw.Store, error)
	works    []Work
	lossless bool
}

// Place is the cell of a remedy. All remedies of a place run at the same time, so that they get the same
// faults.
type Place struct{ Topology, Nemesis string }

// Remedies returns all of them. The first is no remedy, the baseline.
func Remedies() []Remedy {
	behind := []Place{{"sentinel", "failover"}, {"sentinel", "primary-kill"}, {"sentinel", "none"}}
	values := slices.Repeat(Works()[:1], writers)
	masters := []Place{{"masters", "one-down"}, {"masters", "most-down"}, {"forgetful", "one-down"}, {"forgetful", "most-down"}}
	wait := func(replicas int) func(s *Site, process int) (rmw.Store, error) {
		return func(s *Site, process int) (rmw.Store, error) {
			return newWaiting(singleClient(s, process), replicas, replicasLimit), nil
		}
	}
	return append([]Remedy{
		{"none", "lockupdate over one connection: updates, and locks that are only held",
			behind, wait(0), slices.Concat(values, holds()), false},
		{"WAIT 1", "the same, where an update is acknowledged when one of two replicas has it", behind, wait(1), values, false},
		{"WAIT 2", "likewise when both have it", behind, wait(2), values, false},
		{"Redlock", "a lock that most of five servers grant; it guards no values", masters, openRedlock, holds(), false},
		{"etcd", "a lock of etcd, likewise", []Place{{"etcd", "one-down"}, {"etcd", "most-down"}}, openEtcd, holds(), false},
	}, behindSentinels()...)
}

// closing is a lock with the resources to close.
type closing struct {
	withLock
	also []func() error
}

type withLock interface {
	WithLock(ctx context.Context, name string, fn func(ctx context.Context) error) error
	Close() error
}

func (c closing) Close() error {
	errs := []error{c.withLock.Close()}
	for _, also := range c.also {
		errs = append(errs, also())
	}
	return errors.Join(errs...)
}

func openRedlock(s *Site, _ int) (rmw.Store, error) {
	c := closing{}
	var nodes []redlock.Node
	for _, server := range s.servers {
		rdb := newClient(s.Profile, server.Addr)
		nodes, c.also = append(nodes, rdb), append(c.also, rdb.Close)
	}
	c.withLock = redlock.New(nodes, redlock.Config{Lease: remedyLease, NodeTimeout: remedyLease / 10})
	return lockOnly{c}, nil
}

func openEtcd(s *Site, _ int) (rmw.Store, error) {
	var addrs []string
	for _, server := range s.etcd {
		addrs = append(addrs, server.Addr)
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: addrs, DialTimeout: time.Second, Logger: zap.NewNop()})
	if err != nil {
		return nil, err
	}
	return lockOnly{closing{etcdlock.New(client, driver.Config{Lease: remedyLease}), []func() error{client.Close}}}, nil
}
