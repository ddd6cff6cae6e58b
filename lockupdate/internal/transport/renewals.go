package transport

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/lockupdate/internal/driver"
)

// maxRun bounds how many renewals are tried in one flush: each one that hangs costs those after it a try.
const maxRun = 4

// Renew sends renewals in one flush for each server that the client knows, past the circuit breaker, and waits for
// the replies no longer than limit, as far as the client can. While a part of the store hangs, the renewals of keys that
// may be there travel in small flushes, for a quarter of limit. done is called for groups of commands, at once.
func (t *Transport) Renew(cmds []*driver.Command, limit time.Duration, done func(group []*driver.Command)) {
	together, unknown, hung := t.batcher.sort(cmds)
	var all sync.WaitGroup
	all.Go(func() { t.renewApart(limit/4, done, unknown, hung) })
	for _, group := range t.byServer(together) {
		all.Go(func() { t.renewTogether(group, limit, done) })
	}
	all.Wait()
}

// byServer separates renewals by the server of their key, if the client knows it. A flush ends with its slowest server, and
// a renewal that is answered by NOSCRIPT is sent whole only then: on a server that has answered, its lock would be lost.
func (t *Transport) byServer(cmds []*driver.Command) map[*redis.Client][]*driver.Command {
	servers, ok := t.client.(interface {
		MasterForKey(ctx context.Context, key string) (*redis.Client, error)
	})
	groups := map[*redis.Client][]*driver.Command{}
	for _, c := range cmds {
		var server *redis.Client // nil: unknown
		if ok {
			server, _ = servers.MasterForKey(context.Background(), c.Key())
		}
		groups[server] = append(groups[server], c)
	}
	return groups
}

// renewTogether sends renewals in one flush. A client over several servers waits for the slowest of them, so
// that replies are passed on before. If a part of the store hangs, those without a reply are sent again.
func (t *Transport) renewTogether(cmds []*driver.Command, limit time.Duration, done func([]*driver.Command)) {
	ticket := driver.NewTicket(cmds)
	late, ended := make(chan struct{}), make(chan struct{})
	t.gate.Go(func() {
		defer close(ended)
		callers := []caller{{ctx: context.Background(), cmds: cmds, ticket: ticket}}
		id := t.batcher.begin(callers, late)
		t.flush(context.Background(), callers, limit)
		t.batcher.finish(id)
	})
	look := time.NewTicker(minHung)
	defer look.Stop()
	for left := cmds; ; {
		hangs := false
		select {
		case <-ended:
			done(left)
			return
		case <-late:
			late, hangs = nil, true
		case <-look.C:
		}
		early, rest := cut(left, (*driver.Command).HasReplied)
		if left = rest; len(early) > 0 {
			done(early)
		}
		if !hangs {
			continue
		}
		if copies := ticket.Claim(left); copies != nil {
			of := make(map[*driver.Command]*driver.Command, len(left))
			for i, c := range copies {
				of[c] = left[i]
			}
			t.renewApart(limit/4, func(group []*driver.Command) {
				for i, c := range group {
					of[c].Adopt(c)
					group[i] = of[c]
				}
				done(group)
			}, copies)
			return
		}
	}
}

// cut separates the commands for which is returns true.
func cut(cmds []*driver.Command, is func(*driver.Command) bool) (yes, no []*driver.Command) {
	for _, c := range cmds {
		if is(c) {
			yes = append(yes, c)
		} else {
			no = append(no, c)
		}
	}
	return yes, no
}

// renewApart sends renewals in small flushes, in another order each time: those after one that hangs get no reply.
func (t *Transport) renewApart(limit time.Duration, done func([]*driver.Command), groups ...[]*driver.Command) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var all sync.WaitGroup
	for _, cmds := range groups {
		rand.Shuffle(len(cmds), func(i, j int) { cmds[i], cmds[j] = cmds[j], cmds[i] })
		for run := range slices.Chunk(cmds, maxRun) {
			all.Go(func() { t.renewRun(ctx, run, done) })
		}
	}
	all.Wait()
}

// renewRun sends a few renewals. If the flush hangs, the first one without a reply may be the cause, and those
// after it are sent again, until ctx ends.
func (t *Transport) renewRun(ctx context.Context, cmds []*driver.Command, done func([]*driver.Command)) {
	for len(cmds) > 0 {
		l := renewal
		leave, err := t.enter(ctx, &l, cmds, nil)
		if err != nil {
			refuse(context.Background(), errHangs, cmds...)
			done(cmds)
			return
		}
		run := caller{ctx: ctx, cmds: cmds, ticket: driver.NewTicket(cmds)}
		began := time.Now()
		t.flush(context.Background(), []caller{run}, t.batcher.hungAfter())
		t.batcher.tried(began, run, false)
		leave()
		replied := func(c *driver.Command) bool { return c.HasReplied() || answered(c.Err()) }
		ended, lost := cut(cmds, replied)
		if len(lost) > 0 {
			ended, lost = append(ended, lost[0]), lost[1:]
		}
		done(ended)
		cmds = lost
	}
}

// sort separates the renewals that share a flush, those of keys of which nothing is known, and those of keys that
// have hung.
func (b *batcher) sort(cmds []*driver.Command) (together, unknown, hung []*driver.Command) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.watchLocked(time.Now())
	if b.bulkhead.since.IsZero() {
		return cmds, nil, nil
	}
	together, rest := cut(cmds, func(c *driver.Command) bool { return b.bulkhead.laneLocked([]*driver.Command{c}) == shared })
	hung, unknown = cut(rest, func(c *driver.Command) bool { return b.bulkhead.hung[b.bulkhead.hash(c.Key())].times > 0 })
	return together, unknown, hung
}

// begin begins a flight that does not count toward those in flight. late is closed when it hangs with a part of the store.
func (b *batcher) begin(callers []caller, late chan struct{}) (id uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	id = b.startLocked(time.Now(), callers, false)
	b.flights[len(b.flights)-1].onLate = late
	return id
}
