package relay

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// echo starts a server that sends back its input.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(conn, conn)
				_ = conn.Close()
			}()
		}
	}()
	return l.Addr().String()
}

func start(t *testing.T, delay time.Duration) (net.Conn, context.CancelFunc) {
	t.Helper()
	r, err := Listen(echo(t), delay)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- r.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	conn, err := net.Dial("tcp", r.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn, cancel
}

func TestDelayIsInEachDirection(t *testing.T) {
	const delay = 20 * time.Millisecond
	conn, _ := start(t, delay)
	began := time.Now()
	if _, err := conn.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < 2*delay {
		t.Errorf("the answer came after %v", took)
	}
}

// The relay delays chunks concurrently: ten thousand single bytes take much less than ten thousand
// delays, and arrive in order.
func TestThroughputIsNotLimited(t *testing.T) {
	const delay = 20 * time.Millisecond
	conn, _ := start(t, delay)
	sent := make([]byte, 10000)
	for i := range sent {
		sent[i] = byte(i * i >> 3)
	}
	began := time.Now()
	go func() {
		for i := range sent {
			if _, err := conn.Write(sent[i : i+1]); err != nil {
				return // the reader fails
			}
		}
	}()
	got := make([]byte, len(sent))
	if _, err := io.ReadFull(conn, got); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 100*delay {
		t.Errorf("%d chunks took %v", len(sent), took)
	}
	if !bytes.Equal(sent, got) {
		t.Error("not the bytes that were sent")
	}
}

func TestEndOfTheRelayEndsItsConnections(t *testing.T) {
	conn, cancel := start(t, 0)
	cancel()
	if _, err := io.ReadAll(conn); err != nil && !isReset(err) {
		t.Fatal(err)
	}
}

// isReset reports that the relay closed before it accepted.
func isReset(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && !op.Timeout()
}
