package wire

import (
	"net"
	"slices"
	"sync"
	"time"

	"github.com/unwatch/unwatch/internal/resp"
)

type conn struct {
	net.Conn
	process *Process

	mu      sync.Mutex
	rest    []byte // bytes of an incomplete command
	blind   bool   // the stream is not RESP: stop counting
	waiting bool   // a counted command was sent, and no reply received
	since   time.Time
}

func (c *conn) Write(b []byte) (int, error) {
	sent := c.scan(b)
	c.process.sending(sent)
	if len(sent) > 0 {
		c.mu.Lock()
		if !c.waiting {
			c.waiting, c.since = true, time.Now()
		}
		c.mu.Unlock()
	}
	return c.Conn.Write(b)
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.mu.Lock()
		answered, since := c.waiting, c.since
		c.waiting = false
		c.mu.Unlock()
		if answered {
			c.process.answered(time.Since(since))
		}
	}
	return n, err
}

// scan returns the commands that b completes, without the handshake.
func (c *conn) scan(b []byte) []Command {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.blind {
		return nil
	}
	data := b
	if len(c.rest) > 0 {
		data = slices.Concat(c.rest, b)
	}
	var sent []Command
	var words [][]byte
	for len(data) > 0 {
		n, w, err := resp.ScanCommand(data, words, resp.Limits{})
		if err != nil {
			c.blind = true
			return sent
		}
		if n == 0 {
			break
		}
		words, data = w, data[n:]
		if len(words) == 0 {
			continue
		}
		if cmd := command(words); !handshake(cmd.Name) {
			sent = append(sent, cmd)
		}
	}
	c.rest = append([]byte(nil), data...)
	return sent
}
