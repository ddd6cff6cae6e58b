package proxycompat_test

import (
	"context"
	"io"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

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
	p, err := proxytest.Start(proxytest.Config{Profile: proxycompat.Redis()})
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Close()) }()
	rdb := redis.NewClient(p.Options())
	defer rdb.Close()
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
	_, err = rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
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
		got := make(chan string)
		go func() {
			b, _ := io.ReadAll(server)
			got <- string(b)
		}()
		for _, part := range []string{text[:i], text[i:]} {
			n, err := io.WriteString(conn, part)
			require.NoError(t, err)
			assert.Len(t, part, n)
		}
		require.NoError(t, conn.Close())
		assert.Equal(t, text, <-got, "split at %d", i)
		assert.Equal(t, []string{"SUBSCRIBE"}, seen.take(), "split at %d", i)
	}
}

func TestReportNothing(t *testing.T) {
	hook := proxycompat.Report(proxycompat.Codis32(), nil).ProcessHook(noop)
	require.NoError(t, hook(background, redis.NewCmd(background, "watch", "k")))
}
