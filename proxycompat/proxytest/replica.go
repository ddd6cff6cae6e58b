package proxytest

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// replica is a stale copy of a backend. The effects of commands arrive there after the lag, in the order of
// execution.
type replica struct {
	p      *Proxy
	engine *miniredis.Miniredis
	lag    time.Duration

	// Both have their own connections, since effects replicate also after the proxy has lost the client.
	master, copy *backend

	// turn is full while a goroutine changes the master, until the change is in transit. It is a channel,
	// since a mutex does not count as durably blocked in a synctest bubble.
	turn    chan struct{}
	reading map[string]*link // from the master, by database; owned by the holder of turn

	mu      sync.Mutex
	running bool
	queue   []arrival
}

// arrival is a change in transit.
type arrival struct {
	at       time.Time
	database string
	flush    bool // dumps is the whole content of the database
	dumps    []dump
}

func (p *Proxy) addReplicas() {
	for _, b := range p.backends {
		m := miniredis.NewMiniRedis()
		m.ClockTTL(true)
		b.replica = &replica{
			p: p, engine: m, lag: p.cfg.ReplicaLag, turn: make(chan struct{}, 1), reading: map[string]*link{},
			master: newBackend(b.dial),
			copy:   newBackend(func(context.Context) (net.Conn, error) { return m.Dial() }),
		}
		b.replica.copy.engine = true
	}
}

func (r *replica) close() {
	r.master.close()
	r.copy.close()
}

// execute answers a read-only command.
func (r *replica) execute(s *session, backend int, args []string) outcome {
	l, err := r.copy.connect(r.p.ctx, s.database)
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

func (r *replica) send(a arrival) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a.at = time.Now().Add(r.lag)
	r.queue = append(r.queue, a)
	if !r.running {
		r.running = true
		r.p.wg.Go(r.run)
	}
}

// run applies changes after their lag until none is in transit.
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
		if l, err := r.copy.connect(r.p.ctx, a.database); err == nil {
			_ = restore(l, a.flush, a.dumps...)
			l.close()
		}
	}
}
