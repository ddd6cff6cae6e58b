package holder

import (
	"cmp"
	"context"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/lockupdate/internal/driver"
	"github.com/unwatch/unwatch/lockupdate/internal/event"
	"github.com/unwatch/unwatch/lockupdate/internal/lease"
	"github.com/unwatch/unwatch/lockupdate/internal/transport"
	"github.com/unwatch/unwatch/rmw"
)

// server is an in-memory server with the compare-and-set of Redis 8.4. It is a hook of a client
// that sends nothing.
type server struct {
	// fault returns the duration of a flush, whether its commands run, and its error. It
	// may be nil.
	fault func(cmds []redis.Cmder) (takes time.Duration, ran bool, err error)

	mu      sync.Mutex
	strings map[string]stored
}

type stored struct {
	text    string
	expires time.Time // zero: never
}

var errLostReply = io.ErrUnexpectedEOF

func (s *server) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *server) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, cmd redis.Cmder) error { return s.flush(cmd) }
}

func (s *server) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(_ context.Context, cmds []redis.Cmder) error { return s.flush(cmds...) }
}

func (s *server) flush(cmds ...redis.Cmder) (err error) {
	var takes time.Duration
	ran := true
	if s.fault != nil {
		takes, ran, err = s.fault(cmds)
	}
	<-time.After(takes / 2)
	for _, c := range cmds {
		var reply any
		if ran {
			reply = s.run(c.Args())
		}
		switch c := c.(*redisx.Command); {
		case err != nil:
			c.SetErr(err)
		case reply == nil:
			c.SetErr(redis.Nil)
		default:
			c.SetVal(reply)
		}
	}
	<-time.After(takes / 2)
	for _, c := range cmds { // as go-redis: the first error
		if err := c.Err(); err != nil {
			return err
		}
	}
	return nil
}

// run executes one command. nil is the null reply.
func (s *server) run(args []any) (reply any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := args[1].(string)
	was, exists := s.getLocked(key)
	switch args[0] {
	case "get":
		if !exists {
			return nil
		}
		return was.text
	case "type":
		if !exists {
			return "none"
		}
		return "string"
	case "pttl":
		switch {
		case !exists:
			return int64(-2)
		case was.expires.IsZero():
			return int64(-1)
		}
		return time.Until(was.expires).Milliseconds()
	case "delex":
		if !exists || was.text != args[3] {
			return int64(0)
		}
		delete(s.strings, key)
		return int64(1)
	case "set":
		return s.setLocked(key, was, exists, args[2].(string), args[3:])
	}
	panic(args[0])
}

func (s *server) setLocked(key string, was stored, exists bool, text string, options []any) any {
	next := stored{text: text}
	for len(options) > 0 {
		switch options[0] {
		case "nx":
			if exists {
				return nil
			}
		case "ifeq":
			if !exists || was.text != options[1] {
				return nil
			}
			options = options[1:]
		case "keepttl":
			next.expires = was.expires
		case "px":
			next.expires = time.Now().Add(time.Duration(options[1].(int64)) * time.Millisecond)
			options = options[1:]
		default:
			panic(options[0])
		}
		options = options[1:]
	}
	s.strings[key] = next
	return "OK"
}

func (s *server) getLocked(key string) (stored, bool) {
	v, ok := s.strings[key]
	if ok && !v.expires.IsZero() && !time.Now().Before(v.expires) {
		delete(s.strings, key)
		return stored{}, false
	}
	return v, ok
}

func (s *server) text(key string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, _ := s.getLocked(key)
	return v.text
}

// edit changes a value without the lock.
func (s *server) edit(key string, change func(was string) string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was, _ := s.getLocked(key)
	s.strings[key] = stored{change(was.text), was.expires}
}

func (s *server) remove(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.strings, key)
}

// rig has the Queues of one process.
type rig struct {
	*Queues
	*server
}

const testLease = 200 * time.Millisecond

// newRig returns the Queues of a process. Call it within the synctest bubble, if there is one.
func newRig(t *testing.T, s *server, o Options) *rig {
	if s.strings == nil {
		s.strings = map[string]stored{}
	}
	return &rig{newQueues(t, s, driver.New(driver.Options{Kind: driver.IFEQ, MasterReads: true}), o), s}
}

func newQueues(t *testing.T, hook redis.Hook, d driver.Driver, o Options) *Queues {
	rdb := redis.NewClient(&redis.Options{
		Addr:                     "127.0.0.1:1",
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}, // no goroutines
	})
	rdb.AddHook(hook)
	gate := redisx.NewGate()
	o.Expiry, o.MaxAttempts = cmp.Or(o.Expiry, testLease), cmp.Or(o.MaxAttempts, 100)
	o.Poll = rmw.Backoff{Base: time.Millisecond, Max: 64 * time.Millisecond}
	emit := func(event.Event) {}
	tr := transport.New(rdb, d, gate, transport.Options{MaxOutage: time.Second, MaxAttempts: o.MaxAttempts})
	k := lease.NewKeeper(tr, gate, emit, lease.Options{Lease: o.Expiry - o.LockDelay, Expiry: o.Expiry, MaxHold: time.Minute})
	t.Cleanup(func() {
		gate.Close()
		require.Zero(t, k.Len())
		require.NoError(t, rdb.Close())
	})
	return NewQueues(tr, k, gate, emit, o)
}

const (
	testKey  = "k"
	testLock = "/lock/k"
)

// update runs Store.Update.
func (r *rig) update(ctx context.Context, fn rmw.UpdateFunc) (rmw.Result, error) {
	if err := r.gate.Enter(); err != nil {
		return rmw.Result{}, err
	}
	defer r.gate.Leave()
	return r.NewUpdate(ctx, rmw.Key{Name: testKey}, testLock, fn).UpdateUnderLock()
}

// withLock runs Store.WithLock, or Store.TryLock if noWait.
func (r *rig) withLock(ctx context.Context, noWait bool, fn func(held *lease.Context)) error {
	if err := r.gate.Enter(); err != nil {
		return err
	}
	defer r.gate.Leave()
	held, err := r.Lock(ctx, testKey, testLock, noWait)
	if err != nil {
		return err
	}
	fn(held)
	_, lost := held.Leave()
	return lost
}

func appendText(text string) rmw.UpdateFunc {
	return func(_ context.Context, cur rmw.Value) (rmw.Value, error) { return rmw.String(cur.Text() + text), nil }
}

// once runs do in the first call of fn, before fn itself.
func once(do func(), fn rmw.UpdateFunc) rmw.UpdateFunc {
	called := false
	return func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
		if !called {
			called = true
			do()
		}
		return fn(ctx, cur)
	}
}
