package proxytest

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// replica is a copy of a backend that is behind. What commands have left under their keys
// arrives there after the lag, in the order in which they were executed.
type replica struct {
	p      *Proxy
	engine *miniredis.Miniredis
	lag    time.Duration

	// Both are reached over connections of their own: what the proxy has lost sight of
	// still replicates.
	master, copy *backend

	// turn is full while somebody changes the master, until what that has left is on its
	// way. No mutex, because who waits for it may wait for time to pass.
	turn    chan struct{}
	reading map[string]*link // from the master, by database; of whose turn it is

	mu      sync.Mutex
	running bool
	queue   []arrival
}

// arrival is a change on its way.
type arrival struct {
	at       time.Time
	database string
	flush    bool // the dumps are all that there is in the database
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

// execute answers a command that only reads.
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
		if l, err := r.copy.connect(r.p.ctx, a.database); err == nil {
			_ = restore(l, a.flush, a.dumps...)
			l.close()
		}
	}
}
