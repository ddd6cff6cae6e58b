package torture

import (
	"context"
	"slices"

	"github.com/unwatch/unwatch/lockupdate/redlock"
)

// Mitigation is a measure against the losses of Redis itself, with the places where it is tested. It is lossless or
// exclusive, except Redlock, whose overlaps are counted.
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

// Mitigations returns all of them. A study of WAIT and of moves that do not wait is in docs/results.
func Mitigations() []Mitigation {
	masters := []Place{{"masters", "one-down"}, {"masters", "most-down"}, {"forgetful", "one-down"}, {"forgetful", "most-down"}}
	return slices.Concat([]Mitigation{
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
