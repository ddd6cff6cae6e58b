package desk_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/desk"
	"github.com/unwatch/unwatch/domains/mcc"
	"github.com/unwatch/unwatch/domains/session"
	"github.com/unwatch/unwatch/rmw"
)

// errDead is the error of every call of a dead process.
var errDead = errors.New("the process is dead")

// crashing is the Store of a process that dies at one of its calls.
type crashing struct {
	rmw.Store
	dieAt    int  // the call, counted from 1; 0: never
	executed bool // the call that kills is executed, and its answer never seen

	mu    sync.Mutex
	calls int
}

func (m *crashing) Read(ctx context.Context, key rmw.Key) (v rmw.Value, err error) {
	err = m.live(func() error { v, err = m.Store.Read(ctx, key); return err })
	return v, err
}

func (m *crashing) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (res rmw.Result, err error) {
	err = m.live(func() error { res, err = m.Store.Update(ctx, key, fn); return err })
	return res, err
}

func (m *crashing) live(call func() error) error {
	m.mu.Lock()
	m.calls++
	n := m.calls
	m.mu.Unlock()
	switch {
	case m.dieAt == 0 || n < m.dieAt:
		return call()
	case n == m.dieAt && m.executed:
		_ = call()
	}
	return errDead
}

// dead reports whether the process has come to the call that kills it.
func (m *crashing) dead() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dieAt > 0 && m.calls >= m.dieAt
}

// interrupted is a Store that runs a function before one of its calls.
type interrupted struct {
	rmw.Store
	before int // the call, counted from 1
	by     func()
	calls  *atomic.Int64
}

func (s interrupted) meet() {
	if s.calls.Add(1) == int64(s.before) {
		s.by()
	}
}

func (s interrupted) Read(ctx context.Context, key rmw.Key) (rmw.Value, error) {
	s.meet()
	return s.Store.Read(ctx, key)
}

func (s interrupted) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	s.meet()
	return s.Store.Update(ctx, key, fn)
}

// slow is a process to which by happens before one of its calls.
func slow(w *observedStore, before int, by func()) service {
	return newService(interrupted{w, before, by, new(atomic.Int64)})
}

const patience = time.Minute

// service is the packages over the Store of one process.
type service struct {
	desk.Desk
	sessions session.Sessions
	agents   mcc.Agents
	store    rmw.Store
}

func newService(store rmw.Store) service {
	sessions := session.New(store, session.Config{ReopenWindow: 24 * time.Hour})
	agents := mcc.New(store, mcc.Config{Max: limit})
	return service{desk.New(sessions, agents, desk.Config{Patience: patience}), sessions, agents, store}
}

// begin is when the tests' stories begin.
func begin() time.Time { return time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC) }

// hire makes agents, online.
func (s service) hire(ctx context.Context, at time.Time, ids ...string) error {
	var failed []error
	for _, id := range ids {
		_, err := s.agents.Create(ctx, id, domains.NewOp(at), mcc.Agent{})
		failed = append(failed, err)
		_, err = s.agents.SetStatus(ctx, id, domains.NewOp(at), mcc.Online)
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// queue makes sessions, queued.
func (s service) queue(ctx context.Context, at time.Time, ids ...string) error {
	var failed []error
	for _, id := range ids {
		_, err := s.Open(ctx, domains.NewOp(at), id, session.Session{VisitorID: "of-" + id, Status: session.Queued})
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// reapAll brings all agents in line, as of a time at which nothing is left alone.
func (s service) reapAll(ctx context.Context, at time.Time, agents ...string) error {
	var failed []error
	for _, id := range agents {
		_, err := s.Reap(ctx, at, id)
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

func name(kind string, i int) string { return fmt.Sprintf("%s%d", kind, i) }
