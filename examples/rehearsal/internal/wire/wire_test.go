package wire

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// dial returns a connection of p and its other end.
func dial(t *testing.T, p *Process) (client, server net.Conn) {
	t.Helper()
	inner, server := net.Pipe()
	client, err := p.Dialer(func(context.Context, string, string) (net.Conn, error) { return inner, nil })(t.Context(), "tcp", "x")
	require.NoError(t, err)
	t.Cleanup(func() { client.Close(); server.Close() })
	return client, server
}

// send writes each piece with one Write, and reads each reply with one Read.
func send(t *testing.T, client, server net.Conn, pieces, replies []string) {
	t.Helper()
	for _, piece := range pieces {
		go func() { _, _ = client.Write([]byte(piece)) }()
		_, err := io.ReadFull(server, make([]byte, len(piece)))
		require.NoError(t, err)
		synctest.Wait() // the Write has returned
	}
	for _, reply := range replies {
		go func() { _, _ = server.Write([]byte(reply)) }()
		_, err := io.ReadFull(client, make([]byte, len(reply)))
		require.NoError(t, err)
	}
}

const (
	get    = "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"
	multi  = "*1\r\n$5\r\nmulti\r\n"
	exec   = "*1\r\n$4\r\nEXEC\r\n"
	hello  = "*2\r\n$5\r\nHELLO\r\n$1\r\n2\r\n"
	script = "*5\r\n$7\r\nEVALSHA\r\n$2\r\nab\r\n$1\r\n1\r\n$1\r\nk\r\n$1\r\nx\r\n"
)

func TestCounts(t *testing.T) {
	for _, tt := range []struct {
		name            string
		pieces, replies []string
		trips, commands int
	}{
		{"one command", []string{get}, []string{"$-1\r\n"}, 1, 1},
		{"a pipeline is one round trip", []string{multi + get + exec}, []string{"+OK\r\n"}, 1, 3},
		{"replies in pieces", []string{get}, []string{"$", "-1\r\n"}, 1, 1},
		{"a command in pieces", []string{get[:9], get[9:20], get[20:]}, []string{"+OK\r\n"}, 1, 1},
		{"a pipeline in pieces", []string{multi + get[:7], get[7:] + exec}, []string{"+OK\r\n"}, 1, 3},
		{"not yet answered", []string{get}, nil, 0, 1},
		{"the handshake does not count", []string{hello}, []string{"+OK\r\n"}, 0, 0},
		{"handshake and command", []string{hello + get}, []string{"+OK\r\n"}, 1, 1},
		{"not the protocol", []string{"*1\r\n#nonsense\r\n", get}, []string{"+OK\r\n"}, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := NewProcess(nil)
				client, server := dial(t, p)
				send(t, client, server, tt.pieces, tt.replies)
				assert.Equal(t, tt.trips, p.Stats().RoundTrips, "round trips")
				assert.Equal(t, tt.commands, p.Stats().Commands, "commands")
			})
		})
	}
}

func TestTraceAndSum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := NewProcess(nil), NewProcess(nil)
		for _, p := range []*Process{a, b} {
			client, server := dial(t, p)
			send(t, client, server, []string{multi + get}, []string{"+OK\r\n"})
			send(t, client, server, []string{script}, []string{"+OK\r\n"})
		}
		require.Equal(t, [][]Command{
			{{Name: "MULTI"}, {Name: "GET", Key: "k"}},
			{{Name: "EVALSHA", Key: "k", Args: 1}},
		}, a.Trace())
		require.Empty(t, a.Trace(), "it was taken")
		require.Equal(t, Stats{RoundTrips: 4, Commands: 6, ByName: map[string]int{"MULTI": 2, "GET": 2, "EVALSHA": 2}}, Sum(a, b))
	})
}

// A frozen process sends nothing on any connection. After thaw it sends everything.
func TestFreeze(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewProcess(nil)
		var arrived atomic.Int64
		for range 2 {
			client, server := dial(t, p)
			go func() { _, _ = client.Write([]byte(get)) }()
			go func() {
				n, _ := io.ReadFull(server, make([]byte, len(get)))
				arrived.Add(int64(n))
			}()
		}
		synctest.Wait()
		require.EqualValues(t, 2*len(get), arrived.Swap(0), "not frozen yet")

		thaw := p.Freeze()
		client, server := dial(t, p)
		go func() { _, _ = client.Write([]byte(get)) }()
		go func() {
			n, _ := io.ReadFull(server, make([]byte, len(get)))
			arrived.Add(int64(n))
		}()
		synctest.Wait()
		require.Zero(t, arrived.Load(), "frozen")
		thaw()
		synctest.Wait()
		require.EqualValues(t, len(get), arrived.Load(), "thawed")
		require.Equal(t, 3, p.Stats().Commands)
	})
}

// The hook gets a command before it is sent, and can delay it.
func TestBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []Command
		p := NewProcess(func(p *Process, sent []Command) {
			require.Zero(t, p.Stats().Commands)
			seen = append(seen, sent...)
		})
		client, server := dial(t, p)
		send(t, client, server, []string{hello + get}, []string{"+OK\r\n"})
		require.Equal(t, []Command{{Name: "GET", Key: "k"}}, seen)
	})
}

// Waited includes the time of the server, and not that of a stall.
func TestWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewProcess(nil)
		client, server := dial(t, p)
		for range 2 {
			thaw := p.Freeze()
			go func() { time.Sleep(time.Hour); thaw() }()
			go func() { _, _ = client.Write([]byte(multi + get)) }()
			_, err := io.ReadFull(server, make([]byte, len(multi+get)))
			require.NoError(t, err)
			synctest.Wait()
			time.Sleep(time.Second)
			send(t, client, server, nil, []string{"+OK\r\n"})
			synctest.Wait()
		}
		require.Equal(t, 2*time.Second, p.Stats().Waited)
		require.Equal(t, 4*time.Second, Sum(p, p).Waited)
	})
}
