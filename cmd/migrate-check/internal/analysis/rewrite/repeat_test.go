package rewrite_test

import (
	"bytes"
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// cutting loses the answer of the first write that contains a word.
type cutting struct {
	net.Conn
	word string
	cut  *atomic.Bool
	lost bool
}

func (c *cutting) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(c.word)) && c.cut.CompareAndSwap(false, true) {
		c.lost = true
	}
	return c.Conn.Write(p)
}

func (c *cutting) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.lost {
		_ = c.Close()
		return 0, net.ErrClosed
	}
	return n, err
}

// go-redis may send a command twice, so a command that must run once cannot replace a transaction.
func TestGoRedisRetriesCommandsNotTransactions(t *testing.T) {
	for _, c := range []struct {
		name, want string
		send       func(ctx context.Context, rdb *redis.Client) error
		fails      bool
	}{
		{"command", "2", func(ctx context.Context, rdb *redis.Client) error { return rdb.Incr(ctx, key).Err() }, false},
		{"transaction", "1", func(ctx context.Context, rdb *redis.Client) error {
			_, err := rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
				p.Incr(ctx, key)
				return nil
			})
			return err
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t)
			cut := new(atomic.Bool)
			rdb := redis.NewClient(&redis.Options{Addr: s.Addr(), DisableIdentity: true,
				Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
					conn, err := new(net.Dialer).DialContext(ctx, network, addr)
					return &cutting{Conn: conn, word: "incr", cut: cut}, err
				}})
			t.Cleanup(func() { _ = rdb.Close() })
			err := c.send(t.Context(), rdb)
			require.Equal(t, c.fails, err != nil, "%v", err)
			// The client does not wait for a server whose connection is cut.
			require.Eventually(t, func() bool { return s.Exists(key) }, time.Minute, time.Millisecond)
			got, err := s.Get(key)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}
