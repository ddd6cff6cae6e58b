package proxytest

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/unwatch/unwatch/proxycompat"
)

// replica is a copy of a backend that is behind. What a command has left under its keys
// arrives there after the lag, in the order in which the proxy had the answers.
type replica struct {
	p      *Proxy
	engine *miniredis.Miniredis
	lag    time.Duration

	mu      sync.Mutex
	running bool
	queue   []arrival
}

// arrival is a change on its way.
type arrival struct {
	at       time.Time
	database string
	dump     dump
}

func (p *Proxy) addReplicas() {
	for _, b := range p.backends {
		m := miniredis.NewMiniRedis()
		m.ClockTTL(true)
		b.replica = &replica{p: p, engine: m, lag: p.cfg.ReplicaLag}
	}
}

// execute answers a command that only reads.
func (r *replica) execute(s *session, backend int, args []string) outcome {
	l, err := r.connect(s.database)
	if err != nil {
		return localError(s.p.backendError(err)).on(backend)
	}
	defer l.close()
	reply, err := l.do(args)
	if err != nil {
		return localError(s.p.backendError(err)).on(backend)
	}
	return outcome{reply: reply, backend: backend}
}

func (r *replica) connect(database string) (*link, error) {
	b := &backend{dial: func(context.Context) (net.Conn, error) { return r.engine.Dial() }, links: map[*link]struct{}{}}
	return b.connect(r.p.ctx, database)
}

// follow has the replica get what a command has left on its master.
func (r *replica) follow(s *session, backend int, args []string) {
	keys, _ := proxycompat.KeysOf(args...)
	for _, i := range keys {
		l, err := s.link(backend)
		if err != nil {
			return // the master is down, and the replica stays as it is
		}
		if d, err := dumpOf(l, args[i]); err == nil {
			r.send(arrival{at: time.Now().Add(r.lag), database: s.database, dump: d})
		}
	}
}

func (r *replica) send(a arrival) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queue = append(r.queue, a)
	if !r.running {
		r.running = true
		r.p.wg.Go(r.run)
	}
}

// run lets what is on its way arrive, until nothing is.
func (r *replica) run() {
	for {
		r.mu.Lock()
		if len(r.queue) == 0 {
			r.running = false
			r.mu.Unlock()
			return
		}
		a := r.queue[0]
		r.queue = r.queue[1:]
		r.mu.Unlock()
		if !r.p.wait(time.Until(a.at)) {
			return
		}
		if l, err := r.connect(a.database); err == nil {
			_ = a.dump.restore(l)
			l.close()
		}
	}
}
