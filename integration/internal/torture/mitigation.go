package torture

import (
	"context"
	"io"
	"slices"

	"github.com/unwatch/unwatch/lockupdate/redlock"
)

// Mitigation is a measure against the losses of Redis itself, with the places where it is measured. Losses under
// a mitigation fail no run, unless it is lossless or exclusive.
type Mitigation struct {
	Name  string
	About string
	Where []Place

	open     opener
	works    []Work
	lossless bool
	// exclusive: an overlap fails the run, unless the nemesis forgets; a late write that passes the token check
	// always does. The tokens of lockupdate are drawn at their first use, maybe after the lock was forgotten.
	exclusive bool
	unfenced  bool // the external store accepts any token: the defect of a control
}

// Place is the cell of a mitigation. All mitigations of a place run at the same time, so that they get the same
// faults.
type Place struct{ Topology, Nemesis string }

// Mitigations returns all of them. The first does nothing: the baseline.
func Mitigations() []Mitigation {
	behind := []Place{{"sentinel", "failover"}, {"sentinel", "primary-kill"}, {"sentinel", "none"}}
	values := slices.Repeat(Works()[:1], writers)
	masters := []Place{{"masters", "one-down"}, {"masters", "most-down"}, {"forgetful", "one-down"}, {"forgetful", "most-down"}}
	wait := func(replicas int) opener {
		return func(s *Environment, process int) (opened, error) {
			rdb := singleClient(s, process)
			return opened{store: newWaiting(rdb, replicas, replicasLimit), also: []io.Closer{rdb}}, nil
		}
	}
	return slices.Concat([]Mitigation{
		{Name: "none", About: "lockupdate over one connection: updates, and locks that are only held",
			Where: behind, open: wait(0), works: slices.Concat(values, holds())},
		{Name: "WAIT 1", About: "the same, where an update is acknowledged when one of two replicas has it",
			Where: behind, open: wait(1), works: values},
		{Name: "WAIT 2", About: "likewise when both have it", Where: behind, open: wait(2), works: values},
		{Name: "Redlock", About: "a lock that most of five servers grant; it guards no values, and has no token",
			Where: masters, open: openRedlock, works: holds()},
	}, lockServices(), behindSentinels())
}

// withLock is the lock of a process that only holds locks.
type withLock interface {
	WithLock(ctx context.Context, name string, fn func(ctx context.Context) error) error
	Close() error
}

func openRedlock(s *Environment, _ int) (o opened, err error) {
	var nodes []redlock.Node
	for _, server := range s.servers {
		rdb := newClient(s.Profile, server.Addr)
		nodes, o.also = append(nodes, rdb), append(o.also, rdb)
	}
	o.store = redlock.New(nodes, redlock.Config{Lease: holdLease, NodeTimeout: holdLease / 10})
	return o, nil
}
