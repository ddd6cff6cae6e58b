//go:build unix

package servers

import (
	"context"
	"io"
	"net"
	"sync"
)

// wire is a connection to an address that can be cut.
type wire struct {
	net.Listener

	mu   sync.Mutex
	no   bool
	open []net.Conn
}

func newWire(ctx context.Context, to string) (*wire, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", loopback(0))
	if err != nil {
		return nil, err
	}
	w := &wire{Listener: l}
	context.AfterFunc(ctx, func() { _ = l.Close(); w.cut(true) })
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := (&net.Dialer{}).DialContext(ctx, "tcp", to) // without the deadline of dial
			if err != nil || !w.keep(near, far) {
				_ = near.Close()
				continue
			}
			go pass(near, far)
			go pass(far, near)
		}
	}()
	return w, nil
}

// keep registers both ends, or closes the far one if the wire is cut.
func (w *wire) keep(near, far net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.no {
		_ = far.Close()
		return false
	}
	w.open = append(w.open, near, far)
	return true
}

// cut closes all connections, and refuses new ones until it is undone.
func (w *wire) cut(yes bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.no = yes
	if !yes {
		return
	}
	for _, c := range w.open {
		_ = c.Close()
	}
	w.open = nil
}

func pass(from, to net.Conn) {
	_, _ = io.Copy(to, from)
	_ = from.Close()
	_ = to.Close()
}
