package paths_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow"
)

// Texts that must not be visible anywhere. They differ, so that a failure identifies the text.
const (
	rightPassword = "passw0rdOfTheServer"
	wrongPassword = "passw0rdOfAnother"
	firstStored   = "st0redBefore"
	thenStored    = "st0redAfterwards"
	fieldStored   = "st0redField"
)

// spy collects all possible logs of a service: the records of every logger, and each value in each format.
type spy struct {
	mu   sync.Mutex
	text bytes.Buffer
	log  *slog.Logger
}

func newSpy() *spy {
	s := &spy{}
	level := &slog.HandlerOptions{Level: slog.LevelDebug, AddSource: true}
	s.log = slog.New(slog.NewMultiHandler(slog.NewTextHandler(s, level), slog.NewJSONHandler(s, level)))
	return s
}

func (s *spy) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

// Printf implements go-redis' logger.
func (s *spy) Printf(_ context.Context, format string, args ...any) { s.printf(format+"\n", args...) }

func (s *spy) printf(format string, args ...any) { _, _ = fmt.Fprintf(s, format, args...) }

// show prints a value, and every error that it wraps.
func (s *spy) show(what any) {
	for _, verb := range []string{"%v", "%+v", "%#v", "%q", "%s", "%x"} {
		s.printf(verb+"\n", what)
	}
	s.log.Debug("shown", "what", what)
	err, _ := what.(error)
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range several.Unwrap() {
			s.show(one)
		}
		return
	}
	if one := errors.Unwrap(err); one != nil {
		s.show(one)
	}
}

// assertClean fails for each secret that was seen.
func (s *spy) assertClean(t *testing.T, what string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.text.String()
	for _, secret := range []string{rightPassword, wrongPassword, firstStored, thenStored, fieldStored} {
		for _, form := range []string{secret, fmt.Sprintf("%x", secret), strings.Trim(fmt.Sprint([]byte(secret)), "[]")} {
			if before, _, found := strings.Cut(seen, form); found {
				t.Errorf("%s: %s is shown: …%s[HERE]", what, secret, before[max(0, len(before)-600):])
			}
		}
	}
	s.text.Reset()
}

// guarded is a path to a store that requires a password, with its server.
type guarded struct {
	proxy *proxytest.Proxy
	store rmw.Store
	spy   *spy
	kinds []rmw.Kind
}

// guardedPaths opens each path with all its logging enabled.
func guardedPaths() map[string]func(t *testing.T, s *spy, password string) guarded {
	server := func(t *testing.T, profile *proxycompat.Profile, store proxytest.Store) *proxytest.Proxy {
		p, err := proxytest.Start(proxytest.Config{Profile: profile, InMemory: true, Password: rightPassword, Store: store})
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, p.Close()) })
		return p
	}
	client := func(t *testing.T, p *proxytest.Proxy, password string) *redis.Client {
		opts := p.Options()
		opts.Password = password
		opts.MaxRetries, opts.ReadTimeout = -1, time.Second
		rdb := redis.NewClient(opts)
		t.Cleanup(func() { _ = rdb.Close() })
		return rdb
	}
	legacy := func(t *testing.T, password string) (*proxytest.Proxy, *cas.Store) {
		p := server(t, proxycompat.Redis(), proxytest.Lua)
		s := cas.New(client(t, p, password), cas.Config{MaxAttempts: 3})
		t.Cleanup(func() { _ = s.Close() })
		return p, s
	}
	locked := func(t *testing.T, s *spy, password string, profile *proxycompat.Profile, store proxytest.Store, commit lockupdate.Commit) (
		*proxytest.Proxy, *lockupdate.Store,
	) {
		p := server(t, profile, store)
		cfg := lockupdate.Config{
			MaxAttempts: 3, Lease: 4 * time.Second, MaxHold: 10 * time.Second, MaxWait: 20 * time.Second,
			Commit: commit, Logger: s.log, OnEvent: func(e lockupdate.Event) { s.show(e); s.show(e.Err) },
			Observer: func(_ context.Context, e lock.Event) { s.show(e); s.show(e.Err) },
		}
		path := lockupdate.New(client(t, p, password), cfg)
		t.Cleanup(func() { _ = path.Close(); s.show(cfg) })
		return p, path
	}
	dressed := func(s *spy, p *proxytest.Proxy, store rmw.Store, kinds ...rmw.Kind) guarded {
		if kinds == nil {
			kinds = []rmw.Kind{rmw.KindString, rmw.KindHash}
		}
		observed := rmw.Observe(func(_ context.Context, e rmw.Event) { s.show(e); s.show(e.Err) })
		return guarded{proxy: p, store: rmw.Chain(store, rmw.Log(s.log), observed), spy: s, kinds: kinds}
	}
	return map[string]func(t *testing.T, s *spy, password string) guarded{
		"cas": func(t *testing.T, s *spy, password string) guarded {
			p, path := legacy(t, password)
			return dressed(s, p, path)
		},
		"lockupdate": func(t *testing.T, s *spy, password string) guarded {
			p, path := locked(t, s, password, proxycompat.Codis32(), proxytest.Lua, lockupdate.CommitGuarded)
			return dressed(s, p, path)
		},
		"lockupdate without Lua": func(t *testing.T, s *spy, password string) guarded {
			p, path := locked(t, s, password, proxycompat.Redis(), proxytest.Redis84, lockupdate.CommitIFEQ)
			return dressed(s, p, path, rmw.KindString)
		},
		"shadow": func(t *testing.T, s *spy, password string) guarded {
			_, hidden := locked(t, s, password, proxycompat.Codis32(), proxytest.Lua, lockupdate.CommitGuarded)
			p, serving := legacy(t, password)
			both := shadow.New(serving, hidden, shadow.Config{Reads: 100})
			t.Cleanup(func() {
				_ = both.Close()
				s.show(both.Report())
			})
			return dressed(s, p, both)
		},
	}
}

// update runs fn and shows all results, including a panic.
func (g guarded) update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	defer func() { _ = recover() }() // a panic of the caller
	res, err := g.store.Update(ctx, key, fn)
	g.spy.show(res)
	g.spy.show(err)
}

// read runs the operations that only read.
func (g guarded) read(ctx context.Context, key rmw.Key) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	v, err := g.store.Read(ctx, key)
	g.spy.show(v)
	g.spy.show(err)
	if p, ok := rmw.As[rmw.Peeker](g.store); ok {
		v, _, err = p.Peek(ctx, key)
		g.spy.show(v)
		g.spy.show(err)
	}
	if s, ok := rmw.As[*lockupdate.Store](g.store); ok {
		h, err := s.Inspect(ctx, key.Name)
		g.spy.show(h)
		g.spy.show(err)
	}
}

// together creates a key of each kind in one update, and shows the result.
func (g guarded) together(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var keys []rmw.Key
	for _, kind := range g.kinds {
		keys = append(keys, rmw.Key{Name: "lobby:" + kind.String(), Kind: kind})
	}
	res, err := rmw.Transact(ctx, g.store, func(_ context.Context, tx *rmw.Tx) error {
		for _, key := range keys {
			v := rmw.String(firstStored)
			if key.Kind == rmw.KindHash {
				v = rmw.Hash(map[string]string{"name": firstStored, fieldStored: "1"})
			}
			tx.Put(key, v)
		}
		return nil
	}, keys...)
	g.spy.show(res)
	g.spy.show(err)
}

// life creates, changes, reads and deletes a key of each kind.
func (g guarded) life(ctx context.Context) {
	g.together(ctx)
	for _, kind := range g.kinds {
		key := rmw.Key{Name: "room:" + kind.String(), Kind: kind}
		first, then := rmw.String(firstStored), rmw.String(thenStored)
		if kind == rmw.KindHash {
			first = rmw.Hash(map[string]string{"name": firstStored, fieldStored: "1"})
			then = first.With("name", thenStored).Without(fieldStored).With("other", fieldStored)
		}
		for _, next := range []rmw.Value{first, then, {}} {
			g.update(ctx, key, func(context.Context, rmw.Value) (rmw.Value, error) { return next, nil })
			g.read(ctx, key)
		}
	}
}

// eachGuarded runs test on every path, on fake time.
func eachGuarded(t *testing.T, password string, test func(t *testing.T, g guarded)) {
	for name, open := range guardedPaths() {
		t.Run(name, func(t *testing.T) {
			s := newSpy()
			redis.SetLogger(s)
			synctest.Test(t, func(t *testing.T) { test(t, open(t, s, password)) })
			s.assertClean(t, "at the end")
		})
	}
}

// No log of a service contains a stored value or a password, whether its calls succeed or fail.
func TestSecretsStaySecret(t *testing.T) {
	eachGuarded(t, rightPassword, func(t *testing.T, g guarded) {
		g.life(t.Context())
		assert.Contains(t, g.spy.text.String(), "room:string", "else the spy sees nothing")
		g.spy.assertClean(t, "all well")
		for what, do := range trouble() {
			do(t.Context(), g)
			g.spy.assertClean(t, what)
		}
	})
}

// Neither a refused password nor the right one is shown.
func TestRefusedPasswordStaysSecret(t *testing.T) {
	eachGuarded(t, wrongPassword, func(t *testing.T, g guarded) {
		g.life(t.Context())
		assert.Regexp(t, "invalid (username-)?password", g.spy.text.String(), "else it was not refused")
	})
	eachGuarded(t, "", func(t *testing.T, g guarded) {
		g.life(t.Context())
		assert.Regexp(t, "NOAUTH", g.spy.text.String(), "else none was wanted")
	})
}

// Nor after any reply of a server, including quoted arguments, and any broken connection, at each command
// of a life.
func TestLongSecretsStaySecretInFaults(t *testing.T) {
	long.Only(t)
	quoted := "'" + rightPassword + "' '" + firstStored + "' '" + thenStored + "' '" + fieldStored + "' "
	faults := []proxytest.Fault{
		{Action: proxytest.DropRequest}, {Action: proxytest.DropReply}, {Action: proxytest.DropReply, Keep: 7},
		{Action: proxytest.HangReply}, {Action: proxytest.ExecuteLater, Delay: time.Second},
	}
	for _, text := range []string{
		"ERR unknown command 'x', with args beginning with: " + quoted,
		"ERR unknown command `hmset`, with args beginning with: " + quoted,
		"NOAUTH Authentication required.", "NOPERM this user has no permissions to run the 'set' command",
		"OOM command not allowed when used memory > 'maxmemory'.", "READONLY You can't write against a read only replica.",
		"WRONGTYPE Operation against a key holding the wrong kind of value", "ERR handle response, backend conn reset",
	} {
		faults = append(faults, proxytest.Fault{Action: proxytest.RefuseWith, Text: text})
	}
	eachGuarded(t, rightPassword, func(t *testing.T, g guarded) {
		for _, fault := range faults {
			for n := range 8 {
				fault.Skip = n
				remove := g.proxy.Inject(fault)
				g.life(t.Context())
				remove()
				g.spy.assertClean(t, fmt.Sprintf("%v %q at command %d", fault.Action, fault.Text, n))
			}
		}
		g.proxy.Down(0)
		g.life(t.Context())
		g.spy.assertClean(t, "the server is down")
	})
}
