// Package contract runs the conformance suite of package rmwtest on a Store over go-redis: behind a proxy
// that can lose any command or reply, in this process with fake time, or over real servers.
package contract

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// Bench configures the environment of a Store under test.
type Bench struct {
	// Proxy is the address of the Stores, and injects the faults.
	Proxy proxytest.Config
	// Options makes the Stores' client options; nil means Proxy.Options.
	Options func(p *proxytest.Proxy) *redis.Options
	// OneSlot and EqualWrites are those of the Target.
	OneSlot, EqualWrites bool
	// Direct is the suite's access to the storage, without a Store; nil means through the proxy, with
	// [proxytest.Proxy.CalmOptions].
	Direct *redis.Options
	// Trouble, if set, runs beside the test until ctx ends.
	Trouble func(ctx context.Context, p *proxytest.Proxy)
	// Kinds are the kinds that the Stores support; nil means all.
	Kinds []rmw.Kind
	// ExpiryUnit is the unit of expiries in the storage; 0 means milliseconds.
	ExpiryUnit time.Duration
	// Open makes a Store over a new client. The client is closed after the Store.
	Open func(rdb *redis.Client) rmw.Store

	// hangFor is the time after which the connection of a hanging command is cut; 0 is never.
	hangFor time.Duration
}

// Target starts the proxy. The end of the test closes it.
func (b Bench) Target(t testing.TB) rmwtest.Target {
	t.Helper()
	p, err := proxytest.Start(b.Proxy)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	direct := b.direct(p)
	t.Cleanup(func() { _ = direct.Close() })
	if b.Trouble != nil {
		ctx, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		wg.Go(func() { b.Trouble(ctx, p) })
		t.Cleanup(func() { cancel(); wg.Wait() })
	}
	return rmwtest.Target{
		Open: func() rmw.Store {
			opts := p.Options()
			if b.Options != nil {
				opts = b.Options(p)
			}
			rdb := redis.NewClient(opts)
			s := b.Open(rdb)
			t.Cleanup(func() {
				if c, ok := rmw.As[io.Closer](s); ok {
					_ = c.Close()
				}
				_ = rdb.Close()
			})
			return s
		},
		Direct: Direct{direct},
		Faults: faults{p, b.hangFor},
		Kinds:  b.Kinds,

		ExpiryUnit: b.ExpiryUnit,
		OneSlot:    b.OneSlot,

		EqualWrites: b.EqualWrites,
	}
}

func (b Bench) direct(p *proxytest.Proxy) *redis.Client {
	if b.Direct != nil {
		return redis.NewClient(b.Direct)
	}
	return redis.NewClient(p.CalmOptions())
}

// Run runs the suite at the bench in real time.
func (b Bench) Run(t *testing.T) {
	t.Helper()
	b.hangFor = time.Second // Close waits for it, in real time
	rmwtest.Run(t, func(t *testing.T) rmwtest.Target { return b.Target(t) })
}

// RunFake runs the suite on fake time: waiting costs nothing, and a leaked goroutine fails the test. The
// proxy must be InMemory.
func (b Bench) RunFake(t *testing.T) {
	t.Helper()
	b.pool()
	rmwtest.RunFake(t, func(t *testing.T) rmwtest.Target { return b.Target(t) })
}

// RunPrograms runs so many random programs on fake time. The proxy must be InMemory.
func (b Bench) RunPrograms(t *testing.T, programs int) {
	t.Helper()
	b.pool()
	rmwtest.RunPrograms(t, func(t *testing.T) rmwtest.Target { return b.Target(t) }, programs)
}

// pool lets no caller wait for a connection: it would take a timer of go-redis, which may be of another bubble.
func (b *Bench) pool() {
	if b.Options == nil {
		b.Options = func(p *proxytest.Proxy) *redis.Options {
			o := p.Options()
			o.PoolSize = 512
			return o
		}
	}
}

// faults injects into the commands of the Stores only: scripts and transactions.
type faults struct {
	p       *proxytest.Proxy
	hangFor time.Duration
}

// Arm implements [rmwtest.Faults].
func (f faults) Arm(n int, fault rmwtest.Fault) (stop func() bool) {
	if fault.Kind == rmwtest.Hang {
		fault.Delay = f.hangFor
	}
	var seen atomic.Int64
	return Arm(f.p, fault, func() bool { return seen.Add(1) == int64(n) })
}

// Arm injects the fault into the first command of a Store for which strikes returns true. stop waits for the
// Do of a command that has come, which may have come last, after the Store's answer.
func Arm(p *proxytest.Proxy, fault rmwtest.Fault, strikes func() bool) (stop func() bool) {
	var struck atomic.Bool
	done := make(chan struct{})
	remove := p.Inject(proxytest.Fault{
		Match: func(args []string) bool {
			if !ofAStore(args) || !strikes() {
				return false
			}
			struck.Store(true)
			return true
		},
		Action: actions[fault.Kind],
		Delay:  fault.Delay,
		Do: func() {
			if fault.Do != nil {
				fault.Do()
			}
			close(done)
		},
	})
	return func() bool {
		remove()
		if struck.Load() && fault.Do != nil {
			<-done
		}
		return struck.Load()
	}
}

var actions = [...]proxytest.Action{
	rmwtest.NoFault:     proxytest.None,
	rmwtest.RequestLost: proxytest.DropRequest,
	rmwtest.ReplyLost:   proxytest.DropReply,
	rmwtest.Hang:        proxytest.HangReply,
	rmwtest.Late:        proxytest.ExecuteLater,
}

// ofAStore distinguishes a Store's commands from connection set-up and from Direct's, which are marked by
// their spelling; Redis ignores case.
func ofAStore(args []string) bool {
	switch strings.ToUpper(args[0]) {
	case "HELLO", "CLIENT", "AUTH", "SELECT", "PING":
		return false
	}
	return args[0] != Mark(args[0])
}

// Mark spells a command as only Direct does.
func Mark(name string) string { return strings.ToUpper(name[:1]) + strings.ToLower(name[1:]) }

// Direct accesses the storage by plain commands that every profile permits, with the arguments that Redis
// 3.2 accepts: it refuses HSET with several fields.
type Direct struct{ rdb *redis.Client }

func (d Direct) do(ctx context.Context, name string, args ...any) *redis.Cmd {
	return d.rdb.Do(ctx, append([]any{Mark(name)}, args...)...)
}

// Get implements [rmwtest.Direct]. It reads again if the value has changed meanwhile, as by a command of a call that has returned.
func (d Direct) Get(ctx context.Context, name string) (rmw.Value, time.Duration, error) {
	for {
		asked := time.Now()
		before, err := d.left(ctx, name)
		if err != nil {
			return rmw.Value{}, 0, err
		}
		v, err := d.value(ctx, name)
		if err != nil {
			return rmw.Value{}, 0, err
		}
		switch after, err := d.left(ctx, name); {
		case err != nil:
			return rmw.Value{}, 0, err
		case !v.Exists() || after == before && after < 0:
			return v, rmw.NoTTL, nil
		case 0 <= after && after <= before && before-after <= time.Since(asked)+time.Second: // it counts in seconds, perhaps
			return v, before, nil
		}
	}
}

// left returns how long a key has left; it is negative if the key has no expiry, or does not exist.
func (d Direct) left(ctx context.Context, name string) (time.Duration, error) {
	ms, err := d.do(ctx, "pttl", name).Int64()
	return time.Duration(ms) * time.Millisecond, err
}

func (d Direct) value(ctx context.Context, name string) (rmw.Value, error) {
	kind, err := d.do(ctx, "type", name).Text()
	if err != nil || kind == "none" {
		return rmw.Value{}, err
	}
	if kind == "string" {
		s, err := d.do(ctx, "get", name).Text()
		if errors.Is(err, redis.Nil) {
			return rmw.Value{}, nil
		}
		return rmw.String(s), err
	}
	fields := redis.NewMapStringStringCmd(ctx, Mark("hgetall"), name)
	err = d.rdb.Process(ctx, fields)
	return rmw.Hash(fields.Val()), err
}

// Append implements [rmwtest.Direct].
func (d Direct) Append(ctx context.Context, key rmw.Key, id string) error {
	if key.Kind == rmw.KindHash {
		return d.do(ctx, "hset", key.Name, id, "x").Err()
	}
	return d.do(ctx, "append", key.Name, id+",").Err()
}

// Set implements [rmwtest.Direct].
func (d Direct) Set(ctx context.Context, name string, v rmw.Value, ttl time.Duration) error {
	if err := d.do(ctx, "del", name).Err(); err != nil || !v.Exists() {
		return err
	}
	if v.Kind() == rmw.KindString {
		if err := d.do(ctx, "set", name, v.Text()).Err(); err != nil {
			return err
		}
	} else {
		args := []any{name}
		for field, value := range v.All() {
			args = append(args, field, value)
		}
		if err := d.do(ctx, "hmset", args...).Err(); err != nil {
			return err
		}
	}
	if ttl > 0 {
		return d.do(ctx, "pexpire", name, ttl.Milliseconds()).Err()
	}
	return nil
}
