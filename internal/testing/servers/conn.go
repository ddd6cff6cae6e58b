package servers

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/unwatch/unwatch/internal/resp"
)

// answerLimit limits the time for one reply, so that a silent peer cannot use up a whole start limit.
const answerLimit = time.Second

// conn is a minimal client: nested modules use this package, and must not depend on a client.
type conn struct {
	net.Conn
	replies *bufio.Reader
	limit   time.Duration
}

// refused is an error reply.
type refused string

func (r refused) Error() string { return string(r) }

// value is one reply.
type value struct {
	s    string
	list []value
}

// texts returns the elements of a list of texts.
func (v value) texts() []string {
	all := make([]string, 0, len(v.list))
	for _, one := range v.list {
		all = append(all, one.s)
	}
	return all
}

// fields reads a list of alternating names and values.
func (v value) fields() map[string]string {
	all := map[string]string{}
	for i := 0; i+1 < len(v.list); i += 2 {
		all[v.list[i].s] = v.list[i+1].s
	}
	return all
}

// info reads the lines of a text as NAME:VALUE.
func (v value) info() map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(v.s) {
		name, val, _ := strings.Cut(strings.TrimSpace(line), ":")
		all[name] = val
	}
	return all
}

func connect(ctx context.Context, addr string) (*conn, error) {
	c, err := dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, replies: bufio.NewReader(c), limit: answerLimit}, nil
}

// do sends one command on a new connection.
func do(ctx context.Context, addr string, args ...string) (value, error) {
	c, err := connect(ctx, addr)
	if err != nil {
		return value{}, err
	}
	defer func() { _ = c.Close() }()
	return c.do(ctx, args...)
}

// do sends one command and waits for its reply. After an error other than [refused] the connection is
// unusable.
func (c *conn) do(ctx context.Context, args ...string) (value, error) {
	deadline := time.Now().Add(c.limit)
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	if err := c.SetDeadline(deadline); err != nil {
		return value{}, err
	}
	defer context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })()
	if _, err := c.Write(resp.AppendCommand(nil, args...)); err != nil {
		return value{}, fmt.Errorf("%s: %w", args[0], err)
	}
	reply, err := resp.ReadReply(nil, c.replies, resp.Limits{})
	var v value
	if err == nil {
		v, err = valueOf(reply)
	}
	if err != nil {
		return v, fmt.Errorf("%s at %s: %w", strings.Join(args[:min(3, len(args))], " "), c.RemoteAddr(), err)
	}
	return v, nil
}

// valueOf returns the first error reply in reply as a [refused].
func valueOf(reply resp.Reply) (value, error) {
	if text, failed := reply.ErrorText(); failed {
		return value{}, refused(text)
	}
	if n, ok := reply.Int(); ok {
		return value{s: strconv.FormatInt(n, 10)}, nil
	}
	text, _ := reply.Text() // nil counts as an empty text
	v := value{s: text}
	elements, _ := reply.List()
	for _, element := range elements {
		one, err := valueOf(element)
		if err != nil {
			return v, err
		}
		v.list = append(v.list, one)
	}
	return v, nil
}

// dial connects with a deadline for all later operations.
func dial(ctx context.Context, addr string) (net.Conn, error) {
	var d net.Dialer
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	conn, err := d.DialContext(ctx, "tcp", addr)
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
