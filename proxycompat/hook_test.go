package proxycompat_test

import (
	"context"
	"errors"
	"io"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/resp"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/rmw"
)

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
	codis, twemproxy := proxycompat.Codis32(), proxycompat.Twemproxy05()
	for _, c := range []struct {
		profile *proxycompat.Profile
		change  func(*redis.Options)
		want    string
	}{
		{codis, func(o *redis.Options) { o.ClientName = "me" }, "CLIENT not sent: codis"},
		{codis, func(o *redis.Options) { o.Username, o.Password = "u", "p" }, "AUTH not sent: codis"},
		{twemproxy, func(o *redis.Options) { o.DB = 1 }, "SELECT not sent: twemproxy"},
	} {
		_, rdb := hooked(t, c.profile, c.change)
		require.ErrorContains(t, rdb.Get(background, "k").Err(), c.want)
	}
}

func TestGuardAtEveryByte(t *testing.T) {
	good := string(resp.AppendCommand(resp.AppendCommand(nil, "SET", "k", "HSET\r\n"), "GET", "k"))
	bad := string(resp.AppendCommand(nil, "HSET", "k", "f", "v", "g", "w")) // refused for the last of its words
	old := proxycompat.Hook(lookup(t, "codis@3.2"))
	for i := range good + bad {
		conn, server := piped(t, old.DialHook)
		got := received(server, math.MaxInt)
		require.ErrorIs(t, writeSplit(t, conn, good+bad, i), rmw.ErrUnsupported, "split at %d", i)
		_, err := io.WriteString(conn, good)
		require.ErrorIs(t, err, rmw.ErrUnsupported, "and nothing after it")
		require.NoError(t, conn.Close())
		assert.True(t, strings.HasPrefix(good, <-got), "nothing of HSET left, split at %d", i)
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

func TestAllowedCommandsCostNothing(t *testing.T) {
	for profile, commands := range map[string][][]any{
		"codis": {
			{"set", "k", "v", "px", 100, "nx"}, {"evalsha", "0123456789abcdef0123456789abcdef01234567", 1, "k", "v"},
			{"mget", "a", "b"}, {"cas", "a", "b"},
		},
		"codis@3.2": {{"set", "k", "v", "px", 100000, "nx"}, {"zadd", "k", 1.5, "m"}}, // arguments that are looked at
		"cluster":   {{"mget", "{a}1", "{a}2", "{a}3"}},                               // keys that are hashed
	} {
		p := lookup(t, profile)
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

func TestHookWithoutAProfile(t *testing.T) {
	p, rdb := emulated(t, proxycompat.Redis(), func(o *redis.Options) { *o = *proxycompat.Options(nil, "proxy:1") })
	rdb.Options().Dialer = p.Dial
	rdb.AddHook(proxycompat.Hook(nil))
	require.NoError(t, rdb.Set(t.Context(), "k", "v", 0).Err())
}

// policy is a hook that refuses RANDOMKEY, without a check at the connection. It does not set the error of a
// command, as Hook does: the full-duplex AutoPipeline would write the error at the same time.
type policy struct{}

var errPolicy = errors.New("refused by the policy")

func (policy) DialHook(next redis.DialHook) redis.DialHook { return next }

func (policy) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "randomkey" {
			return errPolicy
		}
		return next(ctx, cmd)
	}
}

func (policy) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if cmds[0].Name() == "randomkey" {
			return errPolicy
		}
		return next(ctx, cmds)
	}
}

// A full-duplex AutoPipeline sends a command that a hook refuses. Explain calls it fatal for that reason,
// and lockupdate.New refuses it; if this test fails after an update of go-redis, remove both. The control
// is half-duplex.
func TestFullDuplexSendsRefusedCommands(t *testing.T) {
	for _, full := range []bool{true, false} {
		p, rdb := emulated(t, proxycompat.Codis32(), func(o *redis.Options) {
			o.AutoPipelineOptions = &redis.AutoPipelineOptions{FullDuplex: full}
		})
		rdb.AddHook(policy{})
		auto, err := rdb.AutoPipeline()
		require.NoError(t, err)
		require.Equal(t, full, auto.Config().FullDuplex)

		require.ErrorIs(t, auto.RandomKey(background).Err(), errPolicy)
		require.NoError(t, auto.Set(background, "k", "v", 0).Err(), "sent and answered after it")
		assert.Equal(t, full, p.Count()["RANDOMKEY"] == 1, p.Count())
		require.NoError(t, auto.Close())
	}
}

// reports collects the refusals that a hook reports.
type reports struct {
	mu       sync.Mutex
	commands []string
	values   []any
}

type mark struct{}

func (r *reports) add(ctx context.Context, refused *proxycompat.RefusedError) {
	if refused.Command == "HELLO" || refused.Command == "CLIENT" {
		return // of a handshake: the pool may dial at any time
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.commands = append(r.commands, refused.Command)
	r.values = append(r.values, ctx.Value(mark{}))
}

func (r *reports) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.commands
	r.commands = nil
	return out
}

// A service on its own Redis learns the commands that a proxy would refuse, without an effect on its calls.
func TestReportLetsAllPass(t *testing.T) {
	_, rdb := emulated(t, proxycompat.Redis(), nil)
	var seen reports
	rdb.AddHook(proxycompat.Report(proxycompat.Codis32(), seen.add))
	ctx := context.WithValue(background, mark{}, "mine")

	require.NoError(t, rdb.Set(ctx, "k", "1", 0).Err())
	require.NoError(t, rdb.Get(ctx, "k").Err())
	assert.Empty(t, seen.take())

	require.NoError(t, rdb.Watch(ctx, func(tx *redis.Tx) error {
		_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error { return pipe.Incr(ctx, "k").Err() })
		return err
	}, "k"))
	assert.Subset(t, seen.take(), []string{"WATCH", "MULTI", "EXEC"})
	assert.Equal(t, "2", rdb.Get(ctx, "k").Val())

	seen.values = nil
	_, err := rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.Get(ctx, "k")
		pipe.Rename(ctx, "k", "l")
		pipe.Rename(ctx, "l", "k")
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, []string{"RENAME", "RENAME"}, seen.take())
	assert.Equal(t, []any{"mine", "mine"}, seen.values, "with the caller's ctx")

	sub := rdb.Subscribe(ctx, "news")
	defer sub.Close()
	_, err = sub.Receive(ctx)
	require.NoError(t, err)
	assert.Contains(t, seen.take(), "SUBSCRIBE")
	require.NoError(t, rdb.Publish(ctx, "news", "hello").Err())
	msg, err := sub.ReceiveMessage(ctx)
	require.NoError(t, err)
	assert.Equal(t, "hello", msg.Payload)
}

// All bytes pass unchanged, in any pieces, whether they are commands or not.
func TestReportChangesNoByte(t *testing.T) {
	text := "*2\r\n$9\r\nSUBSCRIBE\r\n$1\r\nc\r\nPING inline\r\n*1\r\n:1\r\nwhat is this"
	for i := range text {
		var seen reports
		conn, server := piped(t, proxycompat.Report(proxycompat.Codis32(), seen.add).DialHook)
		got := received(server, math.MaxInt)
		require.NoError(t, writeSplit(t, conn, text, i))
		require.NoError(t, conn.Close())
		assert.Equal(t, text, <-got, "split at %d", i)
		assert.Equal(t, []string{"SUBSCRIBE"}, seen.take(), "split at %d", i)
	}
}

func TestReportNothing(t *testing.T) {
	hook := proxycompat.Report(proxycompat.Codis32(), nil).ProcessHook(noop)
	require.NoError(t, hook(background, redis.NewCmd(background, "watch", "k")))
}
