package meter_test

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/meter"
)

// metered returns a metered connection and its peer.
func metered(t *testing.T, m *meter.Meter) (conn, peer net.Conn) {
	t.Helper()
	near, far := net.Pipe()
	t.Cleanup(func() { _, _ = near.Close(), far.Close() })
	dial := m.Dialer(func(_ context.Context, network, addr string) (net.Conn, error) {
		assert.Equal(t, "tcp", network)
		assert.Equal(t, "192.0.2.1:1", addr)
		return near, nil
	})
	conn, err := dial(t.Context(), "tcp", "192.0.2.1:1")
	require.NoError(t, err)
	return conn, far
}

// play is a scripted peer: it reads each request, then writes each reply in a separate write. It stops at
// the end of the script.
type step struct {
	asked   string
	answers []string
}

func play(peer net.Conn, script []step) {
	for _, s := range script {
		if _, err := io.ReadFull(peer, make([]byte, len(s.asked))); err != nil {
			return
		}
		for _, answer := range s.answers {
			if _, err := io.WriteString(peer, answer); err != nil {
				return
			}
		}
	}
}

func ask(t *testing.T, conn net.Conn, words ...string) {
	t.Helper()
	for _, w := range words {
		_, err := io.WriteString(conn, w)
		require.NoError(t, err)
	}
}

func hear(t *testing.T, conn net.Conn, want string, chunk int) {
	t.Helper()
	var got []byte
	buf := make([]byte, chunk)
	for len(got) < len(want) {
		n, err := conn.Read(buf)
		require.NoError(t, err)
		got = append(got, buf[:n]...)
	}
	require.Equal(t, want, string(got))
}

func TestEveryByteAndRoundTripIsCounted(t *testing.T) {
	var m meter.Meter
	conn, peer := metered(t, &m)
	assert.Equal(t, meter.Count{}, m.Read(), "dialling is no round trip")
	go play(peer, []step{
		{"PING", []string{"+PONG"}},
		{"GET aGET b", []string{"$1", "$2"}},
		{"SUBSCRIBE", nil},
		{"x", []string{"+1", "+2", "+3"}},
	})

	ask(t, conn, "PING")
	assert.Equal(t, meter.Count{BytesSent: 4}, m.Read(), "not yet answered")
	hear(t, conn, "+PONG", 64)
	assert.Equal(t, meter.Count{RoundTrips: 1, BytesSent: 4, BytesReceived: 5}, m.Read())

	before := m.Read()
	ask(t, conn, "GET a", "GET b")
	hear(t, conn, "$1$2", 1)
	assert.Equal(t, meter.Count{RoundTrips: 1, BytesSent: 10, BytesReceived: 4}, m.Read().Sub(before),
		"a pipeline is one, in however many writes and reads")

	before = m.Read()
	ask(t, conn, "SUBSCRIBE", "x")
	hear(t, conn, "+1", 2)
	hear(t, conn, "+2+3", 2)
	assert.Equal(t, meter.Count{RoundTrips: 1, BytesSent: 10, BytesReceived: 6}, m.Read().Sub(before),
		"what comes without being asked for is none")
}

func TestAnEmptyAnswerIsNoRoundTrip(t *testing.T) {
	var m meter.Meter
	conn, peer := metered(t, &m)
	go func() {
		_, _ = io.ReadFull(peer, make([]byte, 3))
		_ = peer.Close()
	}()
	ask(t, conn, "abc")
	_, err := conn.Read(make([]byte, 8))
	require.ErrorIs(t, err, io.EOF)
	assert.Equal(t, meter.Count{BytesSent: 3}, m.Read())
}

func TestAPartialWriteCountsWhatWasSent(t *testing.T) {
	var m meter.Meter
	conn, peer := metered(t, &m)
	go func() {
		_, _ = io.ReadFull(peer, make([]byte, 2))
		_ = peer.Close()
	}()
	n, err := io.WriteString(conn, "abcdef")
	require.Error(t, err)
	assert.Equal(t, 2, n)
	assert.Equal(t, meter.Count{BytesSent: 2}, m.Read())
}

func TestAMeterAddsUpItsConnections(t *testing.T) {
	var m meter.Meter
	for range 3 {
		conn, peer := metered(t, &m)
		go play(peer, []step{{"ab", []string{"c"}}})
		ask(t, conn, "ab")
		hear(t, conn, "c", 8)
	}
	assert.Equal(t, meter.Count{RoundTrips: 3, BytesSent: 6, BytesReceived: 3}, m.Read())
}

func TestAFailedDialIsPassedOn(t *testing.T) {
	var m meter.Meter
	failed := errors.New("no route")
	conn, err := m.Dialer(func(context.Context, string, string) (net.Conn, error) { return nil, failed })(t.Context(), "tcp", "x")
	require.Equal(t, failed, err)
	assert.Nil(t, conn)
	assert.Equal(t, meter.Count{}, m.Read())
}
