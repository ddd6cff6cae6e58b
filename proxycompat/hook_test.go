package proxycompat_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/resp"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

var background = context.Background()

func hooked(t *testing.T, profile *proxycompat.Profile, change func(*redis.Options)) (*proxytest.Proxy, *redis.Client) {
	t.Helper()
	p, err := proxytest.Start(proxytest.Config{Profile: profile, InMemory: true, Engines: 1})
	require.NoError(t, err)
	opt := p.Options()
	if change != nil {
		change(opt)
	}
	rdb := redis.NewClient(opt)
	rdb.AddHook(proxycompat.Hook(profile))
	t.Cleanup(func() {
		_ = rdb.Close()
		require.NoError(t, p.Close())
	})
	return p, rdb
}

func TestHookRefusesBeforeSending(t *testing.T) {
	for _, profile := range []*proxycompat.Profile{proxycompat.Codis32(), proxycompat.Twemproxy05()} {
		p, rdb := hooked(t, profile, nil)
		require.NoError(t, rdb.Set(background, "k", "v", 0).Err())

		cmd := rdb.ScriptLoad(background, "return 1")
		var refused *proxycompat.RefusedError
		require.ErrorAs(t, cmd.Err(), &refused)
		assert.Equal(t, "SCRIPT", refused.Command)

		var cmds []redis.Cmder
		_, err := rdb.TxPipelined(background, func(pipe redis.Pipeliner) error {
			cmds = append(cmds, pipe.Incr(background, "n"))
			return nil
		})
		require.ErrorIs(t, err, rmw.ErrUnsupported)
		require.ErrorAs(t, err, &refused)
		assert.Equal(t, "MULTI", refused.Command)
		require.ErrorIs(t, cmds[0].Err(), rmw.ErrUnsupported)

		err = rdb.Watch(background, func(*redis.Tx) error { t.Error("called"); return nil }, "k")
		require.ErrorIs(t, err, rmw.ErrUnsupported)

		cmds, err = rdb.Pipelined(background, func(pipe redis.Pipeliner) error {
			pipe.Incr(background, "n")
			pipe.Time(background)
			pipe.Incr(background, "n")
			return nil
		})
		require.ErrorIs(t, err, rmw.ErrUnsupported)
		for _, c := range cmds {
			require.ErrorIs(t, c.Err(), rmw.ErrUnsupported)
		}
		require.ErrorIs(t, rdb.Do(background, "hello", 3).Err(), rmw.ErrUnsupported)

		assert.EqualValues(t, 0, rdb.Exists(background, "n").Val(), "nothing of the pipelines was sent")
		for name := range p.Count() {
			assert.Contains(t, []string{"SET", "EXISTS"}, name, "nothing else reached the proxy")
		}
	}
}

func TestHookCatchesSubscribeAtTheSocket(t *testing.T) {
	p, rdb := hooked(t, proxycompat.Codis32(), nil)
	sub := rdb.Subscribe(background, "news")
	defer sub.Close()
	_, err := sub.ReceiveTimeout(background, time.Second)
	require.ErrorIs(t, err, rmw.ErrUnsupported)
	assert.Empty(t, p.Count(), "SUBSCRIBE never left")
	require.NoError(t, rdb.Set(background, "k", "v", 0).Err(), "other connections still work")
}

func TestHookLetsTheHandshakeWork(t *testing.T) {
	for _, profile := range []*proxycompat.Profile{proxycompat.Codis32(), proxycompat.Twemproxy05(), proxycompat.Redis()} {
		p, rdb := hooked(t, profile, func(o *redis.Options) { *o = redis.Options{MaxRetries: -1} }) // no HelloDialer
		rdb.Options().Dialer = p.Dial
		require.NoError(t, rdb.Set(background, "k", "v", 0).Err(), profile.Name())
		if profile.Name() != "redis" {
			assert.Equal(t, map[string]int{"SET": 1}, p.Count(), "no HELLO, no CLIENT")
		}
	}
}

func TestHookNamesAHandshakeThatCannotWork(t *testing.T) {
	_, rdb := hooked(t, proxycompat.Codis32(), func(o *redis.Options) { o.ClientName = "me" })
	require.ErrorContains(t, rdb.Get(background, "k").Err(), "CLIENT not sent: codis")
	_, rdb = hooked(t, proxycompat.Codis32(), func(o *redis.Options) { o.Username, o.Password = "u", "p" })
	require.ErrorContains(t, rdb.Get(background, "k").Err(), "AUTH not sent: codis")
	_, rdb = hooked(t, proxycompat.Twemproxy05(), func(o *redis.Options) { o.DB = 1 })
	require.ErrorContains(t, rdb.Get(background, "k").Err(), "SELECT not sent: twemproxy")
}

func TestGuardAtEveryByte(t *testing.T) {
	good := string(resp.AppendCommand(resp.AppendCommand(nil, "SET", "k", "WATCH\r\n"), "GET", "k"))
	bad := string(resp.AppendCommand(nil, "WATCH", "k"))
	for i := range good + bad {
		conn, server := piped(t, proxycompat.Hook(proxycompat.Codis32()).DialHook)
		got := make(chan string)
		go func() {
			b, _ := io.ReadAll(server)
			got <- string(b)
		}()
		stream := good + bad
		n, err := io.WriteString(conn, stream[:i])
		if err == nil {
			assert.Equal(t, i, n)
			_, err = io.WriteString(conn, stream[i:])
		}
		require.ErrorIs(t, err, rmw.ErrUnsupported, "split at %d", i)
		_, err = io.WriteString(conn, good)
		require.ErrorIs(t, err, rmw.ErrUnsupported, "and nothing after it")
		require.NoError(t, conn.Close())
		assert.True(t, strings.HasPrefix(good, <-got), "nothing of WATCH left, split at %d", i)
	}
	conn, _ := piped(t, proxycompat.Hook(proxycompat.Codis32()).DialHook)
	_, err := io.WriteString(conn, "*1\r\n:1\r\n")
	require.ErrorIs(t, err, resp.ErrProtocol)
}

// A refusal wakes a blocked Read with the reason: go-redis reads messages of a subscription on a separate
// goroutine.
func TestGuardWakesWaitingRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, _ := piped(t, proxycompat.Hook(proxycompat.Codis32()).DialHook)
		woken := make(chan error, 1)
		go func() {
			_, err := conn.Read(make([]byte, 1))
			woken <- err
		}()
		synctest.Wait()
		_, err := conn.Write(resp.AppendCommand(nil, "SUBSCRIBE", "news"))
		require.ErrorIs(t, err, rmw.ErrUnsupported)
		require.ErrorIs(t, <-woken, rmw.ErrUnsupported)
	})
}

func noop(context.Context, redis.Cmder) error { return nil }

func TestAllowedCommandsCostNothing(t *testing.T) {
	for profile, commands := range map[string][][]any{
		"codis": {
			{"set", "k", "v", "px", 100, "nx"}, {"evalsha", "0123456789abcdef0123456789abcdef01234567", 1, "k", "v"},
			{"mget", "a", "b"}, {"cas", "a", "b"},
		},
		"codis@3.2": {{"set", "k", "v", "px", 100000, "nx"}, {"zadd", "k", 1.5, "m"}}, // arguments that are looked at
		"cluster":   {{"mget", "{a}1", "{a}2", "{a}3"}},                               // keys that are hashed
	} {
		p, err := proxycompat.Lookup(profile)
		require.NoError(t, err)
		for _, args := range commands {
			cmd := redis.NewCmd(background, args...)
			for _, h := range []redis.Hook{proxycompat.Hook(p), proxycompat.Report(p, new(reports).add)} {
				hook := h.ProcessHook(noop)
				require.NoError(t, hook(background, cmd))
				assert.Zero(t, testing.AllocsPerRun(100, func() { _ = hook(background, cmd) }), "%s: %v", profile, args)
			}
		}
	}
}

func BenchmarkHookAllowed(b *testing.B) {
	hook := proxycompat.Hook(proxycompat.Codis32()).ProcessHook(noop)
	cmd := redis.NewCmd(background, "evalsha", "0123456789abcdef0123456789abcdef01234567", 1, "k", "v")
	b.ReportAllocs()
	for b.Loop() {
		_ = hook(background, cmd)
	}
}

func TestHookWithoutAProfile(t *testing.T) {
	p, err := proxytest.Start(proxytest.Config{Profile: proxycompat.Redis()})
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Close()) }()
	rdb := redis.NewClient(proxycompat.Options(nil, p.Addr()))
	defer func() { require.NoError(t, rdb.Close()) }()
	rdb.AddHook(proxycompat.Hook(nil))
	require.NoError(t, rdb.Set(t.Context(), "k", "v", 0).Err())
}
