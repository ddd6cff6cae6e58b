package desk_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/desk"
	"github.com/unwatch/unwatch/domains/mcc"
	"github.com/unwatch/unwatch/domains/session"
	"github.com/unwatch/unwatch/rmw"
)

const patience = time.Minute

// begin is the first time of these tests.
func begin() time.Time { return time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC) }

// errDead is the error of every call of a dead process.
var errDead = errors.New("the process is dead")

// call is a call of a process to its Store.
type call struct {
	n      int // counted from 1
	update bool
	key    string
}

// process is the Store of one process.
type process struct {
	rmw.Store
	calls int
	// around runs a call.
	around func(ctx context.Context, c call, run func() error) error
	// between, if not nil, happens after each call of an UpdateFunc.
	between func()
}

func (p *process) Read(ctx context.Context, key rmw.Key) (v rmw.Value, err error) {
	p.calls++
	c := call{n: p.calls, key: key.Name}
	err = p.around(ctx, c, func() error {
		v, err = p.Store.Read(ctx, key)
		return err
	})
	return v, err
}

func (p *process) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (res rmw.Result, err error) {
	p.calls++
	c := call{n: p.calls, update: true, key: key.Name}
	err = p.around(ctx, c, func() error {
		res, err = p.Store.Update(ctx, key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
			next, err := fn(ctx, cur)
			if p.between != nil {
				p.between()
			}
			return next, err
		})
		return err
	})
	return res, err
}

// around is the service of a process with that wrapper of its calls.
func around(store rmw.Store, wrap func(ctx context.Context, c call, run func() error) error) service {
	return newService(&process{Store: store, around: wrap})
}

// dying is a process that dies at a call, which is executed or not. It never sees the answer.
func dying(store rmw.Store, at int, executed bool) service {
	return around(store, func(_ context.Context, c call, run func() error) error {
		switch {
		case c.n < at:
			return run()
		case c.n == at && executed:
			_ = run()
		}
		return errDead
	})
}

// interrupted is a process to which by happens once: before its n-th call, or after its n-th call of an UpdateFunc.
func interrupted(store rmw.Store, n int, within bool, by func()) service {
	meet := func() {
		if n--; n == 0 {
			by()
		}
	}
	p := &process{Store: store, around: func(_ context.Context, _ call, run func() error) error {
		if !within {
			meet()
		}
		return run()
	}}
	if within {
		p.between = meet
	}
	return newService(p)
}

// failing is a process whose calls with a key do something else. If reads is false, that is only its updates.
func failing(store rmw.Store, key string, reads bool, instead func(context.Context) error) service {
	return around(store, func(ctx context.Context, c call, run func() error) error {
		if c.key == key && (reads || c.update) {
			return instead(ctx)
		}
		return run()
	})
}

func unavailable(context.Context) error { return rmw.ErrUnavailable }

// hang answers at the end of ctx.
func hang(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

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

// errOf drops the result of a call.
func errOf(_ any, err error) error { return err }

func queuedOf(visitor string) session.Session {
	return session.Session{VisitorID: visitor, Status: session.Queued}
}

// hire makes agents, online.
func (s service) hire(ctx context.Context, at time.Time, ids ...string) error {
	var failed []error
	for _, id := range ids {
		failed = append(failed, errOf(s.agents.Create(ctx, id, domains.NewOp(at), mcc.Agent{})),
			errOf(s.agents.SetStatus(ctx, id, domains.NewOp(at), mcc.Online)))
	}
	return errors.Join(failed...)
}

// queue makes sessions, queued.
func (s service) queue(ctx context.Context, at time.Time, ids ...string) error {
	var failed []error
	for _, id := range ids {
		failed = append(failed, errOf(s.Open(ctx, domains.NewOp(at), id, queuedOf("of-"+id))))
	}
	return errors.Join(failed...)
}

// reapAll brings both agents in line.
func (s service) reapAll(ctx context.Context, at time.Time) error {
	return errors.Join(errOf(s.Reap(ctx, at, "a")), errOf(s.Reap(ctx, at, "b")))
}

// commit changes a session without the steps before and after it, as a process that has died.
func (s service) commit(ctx context.Context, at time.Time, sessionID string, change func(*session.Session) error) error {
	return errOf(s.sessions.Edit(ctx, sessionID, domains.NewOp(at), change))
}

// fence raises the epoch of a session.
func (s service) fence(ctx context.Context, at time.Time, sessionID string) error {
	n, err := s.sessions.Get(ctx, sessionID)
	if err != nil {
		return err
	}
	return errOf(s.sessions.Fence(ctx, sessionID, at, n.Epoch))
}

// remove removes a key.
func (s service) remove(ctx context.Context, key string) error {
	return errOf(s.store.Update(ctx, rmw.Key{Name: key}, func(context.Context, rmw.Value) (rmw.Value, error) {
		return rmw.Value{}, nil
	}))
}

// fixture is a service with agents a and b, online.
type fixture struct {
	service
	t   *testing.T
	now time.Time
}

func newFixture(t *testing.T, store rmw.Store, sessions ...string) fixture {
	t.Helper()
	d := fixture{newService(store), t, begin()}
	require.NoError(t, d.hire(t.Context(), d.now, "a", "b"))
	require.NoError(t, d.queue(t.Context(), d.now, sessions...))
	return d
}

// ok is for calls that have to succeed.
func (d fixture) ok(_ any, err error) {
	d.t.Helper()
	require.NoError(d.t, err)
}

func (d fixture) op() domains.Op { return domains.NewOp(d.now) }

func (d fixture) assign(sessionID, agentID string) session.Session {
	d.t.Helper()
	s, err := d.Assign(d.t.Context(), d.op(), sessionID, agentID)
	require.NoError(d.t, err)
	return s
}

// slots returns the session ids of the agent's slots.
func (d fixture) slots(agentID string) []string {
	d.t.Helper()
	a, err := d.agents.Get(d.t.Context(), agentID)
	require.NoError(d.t, err)
	return slices.Sorted(maps.Keys(a.Slots))
}

func (d fixture) get(sessionID string) session.Session {
	d.t.Helper()
	s, err := d.sessions.Get(d.t.Context(), sessionID)
	require.NoError(d.t, err)
	return s
}
