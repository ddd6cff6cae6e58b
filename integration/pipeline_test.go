package integration_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/resp"
	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// Package proxytest treats pipelines like the real nutcracker: it closes the connection at an unparsable
// command, loses the replies of earlier commands, and has executed all of these.
func TestProxytestMatchesPipelines(t *testing.T) {
	nutcracker := servers.Nutcracker(t, []string{servers.Redis(t).Addr}, 1)
	p, err := proxytest.Start(proxytest.Config{Profile: proxycompat.Twemproxy05(), Backends: []string{servers.Redis(t).Addr}})
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Close()) }()

	rng := rand.New(rand.NewPCG(5, 1))
	good := []string{"INCR a", "INCR b", "GET a", "DEL b", "APPEND c x", "MGET a b c", "PING", "EVAL return(#KEYS) 1 a"}
	bad := []string{"TIME", "MULTI", "WATCH a", "PING x", "GET a b", "EVAL return(1) 0", "QUIT", "NO-SUCH a"}
	const pipelines = 500
	cut := 0
	for range pipelines {
		var commands [][]string
		for range 1 + rng.IntN(6) {
			pool := good
			if rng.IntN(8) == 0 {
				pool = bad
			}
			commands = append(commands, strings.Fields(pool[rng.IntN(len(pool))]))
		}
		want, got := pipelined(t, nutcracker.Addr, commands), pipelined(t, p.Addr(), commands)
		require.Equal(t, want, got, "%q", commands)
		if want[len(want)-1] == "closed" {
			cut++
		}
		stored := [][]string{{"MGET", "a", "b", "c"}}
		require.Equal(t, pipelined(t, nutcracker.Addr, stored), pipelined(t, p.Addr(), stored), "what %q has left", commands)
	}
	t.Logf("%d pipelines compared, of which %d were cut, 0 differences", pipelines, cut)
	assert.Greater(t, cut, pipelines/10)
}

// pipelined sends all commands in one write on a new connection.
func pipelined(t *testing.T, addr string, commands [][]string) (replies []string) {
	t.Helper()
	conn, err := net.DialTimeout("tcp", addr, 10*time.Second)
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	require.NoError(t, conn.SetDeadline(time.Now().Add(10*time.Second)))
	var all []byte
	for _, args := range commands {
		all = resp.AppendCommand(all, args...)
	}
	_, err = conn.Write(all)
	require.NoError(t, err)
	br := bufio.NewReader(conn)
	for range commands {
		reply, err := resp.ReadReply(nil, br, resp.Limits{})
		if err != nil {
			require.True(t, errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET), fmt.Sprint(err))
			return append(replies, "closed")
		}
		replies = append(replies, string(reply))
	}
	return replies
}
