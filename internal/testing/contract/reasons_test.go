package contract_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// situation provokes a row of the second table of docs/errors.md.
type situation struct {
	name    string
	profile *proxycompat.Profile
	fault   func(call string) proxytest.Fault // for the path's write, or its first command
	first   bool                              // the fault is on the first command
	prepare func(t *testing.T, p *proxytest.Proxy, rdb *redis.Client)
	ctx     func(ctx context.Context) (context.Context, context.CancelFunc)
	fn      func(cancel context.CancelFunc, rdb *redis.Client) rmw.UpdateFunc
	want    map[string]error
	written bool // the value may be written
}

func both(reason error) map[string]error {
	return map[string]error{"cas": reason, "lockupdate": reason}
}

func add(_ context.Context, cur rmw.Value) (rmw.Value, error) {
	return rmw.String(cur.Text() + "+"), nil
}

func situations() []situation {
	always := func(f proxytest.Fault) func(string) proxytest.Fault {
		return func(call string) proxytest.Fault {
			f.Match = func(args []string) bool { return is(args, call) }
			return f
		}
	}
	return []situation{
		{
			name: "another writer is always quicker", want: both(rmw.ErrContended),
			fn: func(_ context.CancelFunc, rdb *redis.Client) rmw.UpdateFunc {
				return func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
					rdb.Append(ctx, "k", "!")
					return add(ctx, cur)
				}
			},
		},
		{
			name: "ctx ends in fn", want: both(context.Canceled),
			fn: func(cancel context.CancelFunc, _ *redis.Client) rmw.UpdateFunc {
				return func(ctx context.Context, cur rmw.Value) (rmw.Value, error) { cancel(); return add(ctx, cur) }
			},
		},
		{
			name: "ctx ends while the write is on its way", want: both(rmw.ErrOutcomeUnknown), written: true,
			fault: always(proxytest.Fault{Action: proxytest.HangReply}),
			ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, time.Second)
			},
		},
		{
			name: "the connection breaks before the write is sent", want: both(nil), written: true, first: true,
			fault: always(proxytest.Fault{Action: proxytest.DropRequest}),
		},
		{
			name: "the connection always breaks before the write is sent", want: both(rmw.ErrUnavailable), first: true,
			fault: always(proxytest.Fault{Action: proxytest.DropRequest, Times: -1}),
		},
		{
			name: "the write's answer is lost", want: both(rmw.ErrOutcomeUnknown), written: true,
			fault: always(proxytest.Fault{Action: proxytest.DropReply}),
		},
		{
			name: "the write is lost on its way", want: both(rmw.ErrOutcomeUnknown),
			fault: always(proxytest.Fault{Action: proxytest.DropRequest}),
		},
		{
			name: "the stored value is of another type", want: both(rmw.ErrWrongKind),
			prepare: func(t *testing.T, _ *proxytest.Proxy, rdb *redis.Client) {
				require.NoError(t, rdb.HSet(t.Context(), "k", "f", "v").Err())
			},
		},
		{
			name: "a Codis proxy", profile: proxycompat.Codis32(),
			want: map[string]error{"cas": rmw.ErrUnsupported, "lockupdate": nil}, written: true,
		},
		{
			name: "the ACL forbids a command", want: both(rmw.ErrUnsupported), first: true,
			fault: always(proxytest.Fault{Action: proxytest.RefuseWith, Times: -1, Text: "NOPERM this user has no permissions"}),
		},
		{
			name: "the server is loading", want: both(rmw.ErrUnavailable), first: true,
			fault: always(proxytest.Fault{Action: proxytest.RefuseWith, Times: -1, Text: "LOADING Redis is loading the dataset in memory"}),
		},
	}
}

// is tells a path's write, or its first command.
func is(args []string, call string) bool {
	name := strings.ToLower(args[0])
	if name == "eval" || name == "evalsha" {
		onLock := strings.HasPrefix(args[3], "/lock/")
		return call == "first" && onLock || call == "write" && !onLock && len(args) > 5
	}
	return call == "first" && name == "watch" || call == "write" && name == "exec"
}

// TestSameSituationSameReason tests the second table of docs/errors.md.
func TestSameSituationSameReason(t *testing.T) {
	for _, s := range situations() {
		for path, want := range s.want {
			t.Run(s.name+"/"+path, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { s.check(t, path, want) })
			})
		}
	}
}

func (s situation) check(t *testing.T, path string, want error) {
	profile := s.profile
	if profile == nil {
		profile = proxycompat.Redis()
	}
	p, err := proxytest.Start(proxytest.Config{Profile: profile, InMemory: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Close()) }()
	client := func() *redis.Client {
		opts := p.Options()
		opts.MaxRetries = -1
		return redis.NewClient(opts)
	}
	rdb, beside := client(), client()
	defer func() { require.NoError(t, rdb.Close()); require.NoError(t, beside.Close()) }()
	store := map[string]func() rmw.Store{
		"cas":        func() rmw.Store { return cas.New(rdb, cas.Config{MaxAttempts: 5}) },
		"lockupdate": func() rmw.Store { return lockupdate.New(rdb, lockupdate.Config{MaxAttempts: 5}) },
	}[path]()
	defer func() { require.NoError(t, store.(io.Closer).Close()) }()
	// Fill the script caches; a refused path needs none.
	_, _ = store.Update(t.Context(), rmw.Key{Name: "warm"}, add)

	if s.prepare != nil {
		s.prepare(t, p, beside)
	}
	if s.fault != nil {
		call := "write"
		if s.first {
			call = "first"
		}
		defer p.Inject(s.fault(call))()
	}
	ctx, cancel := context.WithCancel(t.Context())
	if s.ctx != nil {
		ctx, cancel = s.ctx(t.Context())
	}
	defer cancel()
	fn := add
	if s.fn != nil {
		fn = s.fn(cancel, beside)
	}
	_, err = store.Update(ctx, rmw.Key{Name: "k"}, fn)
	require.ErrorIs(t, err, want)
	if want != nil {
		assert.ErrorAs(t, err, new(*rmw.Error))
	}
	if ctx.Err() != nil {
		require.ErrorIs(t, err, ctx.Err())
	}
	if text, _ := beside.Get(t.Context(), "k").Result(); !s.written {
		assert.NotContains(t, text, "+", "nothing must be written")
	}
}

// An fn that writes its own key by the client conflicts with itself in each run. The text asks for that.
func TestOwnWriteIsNamed(t *testing.T) {
	for path, open := range map[string]func(rdb *redis.Client) rmw.Store{
		"cas":        func(rdb *redis.Client) rmw.Store { return cas.New(rdb, cas.Config{MaxAttempts: 5}) },
		"lockupdate": func(rdb *redis.Client) rmw.Store { return lockupdate.New(rdb, lockupdate.Config{MaxAttempts: 5}) },
		"lockupdate on demand": func(rdb *redis.Client) rmw.Store {
			return lockupdate.New(rdb, lockupdate.Config{MaxAttempts: 5, LockOnDemand: true})
		},
	} {
		t.Run(path, func(t *testing.T) {
			p, err := proxytest.Start(proxytest.Config{Profile: proxycompat.Redis()})
			require.NoError(t, err)
			rdb := redis.NewClient(p.Options())
			store := open(rdb)
			_, err = store.Update(t.Context(), rmw.Key{Name: "k"}, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
				rdb.Append(ctx, "k", "!")
				return add(ctx, cur)
			})
			require.ErrorIs(t, err, rmw.ErrContended)
			require.ErrorContains(t, err, "after each of 5 runs of fn; does fn write this key itself")
			require.NoError(t, errors.Join(store.(io.Closer).Close(), rdb.Close(), p.Close()))
		})
	}
}

// The address has no listener.
func TestConnectionRefused(t *testing.T) {
	rdb := redis.NewClient(proxycompat.Options(proxycompat.Redis(), "127.0.0.1:1"))
	defer func() { require.NoError(t, rdb.Close()) }()
	for _, store := range []rmw.Store{cas.New(rdb, cas.Config{}), lockupdate.New(rdb, lockupdate.Config{})} {
		_, err := store.Update(t.Context(), rmw.Key{Name: "k"}, add)
		require.ErrorIs(t, err, rmw.ErrUnavailable)
		assert.NotErrorIs(t, err, rmw.ErrOutcomeUnknown)
		assert.ErrorContains(t, err, "127.0.0.1:1")
		_, err = store.Read(t.Context(), rmw.Key{Name: "k"})
		require.ErrorIs(t, err, rmw.ErrUnavailable)
	}
}
