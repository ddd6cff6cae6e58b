package servers

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/unwatch/unwatch/internal/resp"
)

// answerLimit limits the time for one reply, so that a silent peer cannot use up a whole start limit.
const answerLimit = time.Second

// connect opens a connection to a Redis.
func connect(ctx context.Context, addr string) (*resp.Conn, error) {
	conn, err := dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	return resp.NewConn(conn, answerLimit), nil
}

// do sends one command on a new connection.
func do(ctx context.Context, addr string, args ...string) (resp.Reply, error) {
	c, err := connect(ctx, addr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	reply, err := c.Do(ctx, args...)
	if err != nil {
		return nil, fmt.Errorf("%s at %s: %w", strings.Join(args[:min(3, len(args))], " "), addr, err)
	}
	return reply, nil
}

// info reads the lines of a reply as NAME:VALUE.
func info(reply resp.Reply) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(reply.Word()) {
		name, val, _ := strings.Cut(strings.TrimSpace(line), ":")
		all[name] = val
	}
	return all
}

// dial connects to a server of any protocol, with a deadline for all later operations.
func dial(ctx context.Context, addr string) (net.Conn, error) {
	conn, err := resp.Dialer{Timeout: answerLimit}.Open(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return conn, conn.SetDeadline(time.Now().Add(answerLimit))
}

// poll calls ok until it returns no error. If ctx ends first, the error is that of the last call.
func poll(ctx context.Context, ok func() error) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ok()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}
