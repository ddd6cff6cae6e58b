package proxytest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"math"
	"net"
	"slices"
	"sync"

	"github.com/unwatch/unwatch/internal/resp"
)

var (
	errDown = errors.New("backend is down")
	errGone = errors.New("backend connection is gone")
	// A server that does not answer in time may still execute the command.
	errAsleep = errors.New("backend does not answer")
)

// backend is one server behind the proxy.
type backend struct {
	dial func(ctx context.Context) (net.Conn, error)

	replica *replica // answers read-only commands; nil: none
	engine  bool     // in this process: see asRedis
	watched bool     // by clients, which a proxy does not permit

	mu      sync.Mutex
	down    bool
	ejected bool
	asleep  bool
	late    []*late // commands received while asleep
	links   map[*link]struct{}
}

func newBackend(dial func(ctx context.Context) (net.Conn, error)) *backend {
	return &backend{dial: dial, links: map[*link]struct{}{}}
}

// link is one connection to a backend. One session uses it, one command at a time, and dials again after an
// error.
type link struct {
	b    *backend
	conn net.Conn
	br   *bufio.Reader
}

// connect opens a link and selects the database unless it is 0.
func (b *backend) connect(ctx context.Context, database string) (*link, error) {
	b.mu.Lock()
	down := b.down
	b.mu.Unlock()
	if down {
		return nil, errDown
	}
	conn, err := b.dial(ctx)
	if err != nil {
		return nil, err
	}
	l := &link{b: b, conn: conn, br: bufio.NewReader(conn)}
	b.mu.Lock()
	if b.down {
		b.mu.Unlock()
		return nil, errors.Join(errDown, conn.Close())
	}
	b.links[l] = struct{}{}
	b.mu.Unlock()
	if database != "" && database != "0" {
		if _, err := l.do([]string{"SELECT", database}); err != nil {
			l.close()
			return nil, err
		}
	}
	return l, nil
}

// do sends one command and returns its reply, with any push messages before it.
func (l *link) do(args []string) (resp.Reply, error) {
	if l.b.engine {
		args = asRedis(args, l.b.watched)
	}
	if _, err := l.conn.Write(resp.AppendCommand(nil, args...)); err != nil {
		return nil, errors.Join(errGone, err)
	}
	return l.reply()
}

// unnoticed are the commands with which miniredis lets a transaction pass that watches the key.
var unnoticed = []string{"HDEL", "ZREM", "ZREMRANGEBYRANK", "ZREMRANGEBYSCORE", "ZREMRANGEBYLEX"}

// maxUnpacked keeps the arguments of a command below the stack of miniredis' Lua.
const maxUnpacked = 1000

// asRedis makes an in-process server do what Redis does and miniredis does not: it rounds TTL and EXPIRETIME to the nearest second
// (expire.c, ttlGenericCommand), and it has a removal of fields or members fail the transactions that watch the key. That takes a
// script, which works in a transaction, too. Within a client's script these commands stay as they are.
func asRedis(args []string, watched bool) []string {
	removes := watched && slices.ContainsFunc(unnoticed, func(name string) bool { return is(args, name) })
	switch {
	case len(args) == 2 && (is(args, "TTL") || is(args, "EXPIRETIME")):
		const rounded = "local ms = redis.call('P' .. ARGV[1], KEYS[1]) if ms < 0 then return ms end return math.floor((ms + 500) / 1000)"
		return []string{"EVAL", rounded, "1", args[1], args[0]}
	case removes && 2 < len(args) && len(args) < maxUnpacked:
		const noticed = `local n = redis.pcall(ARGV[1], KEYS[1], unpack(ARGV, 2))
if type(n) == 'table' or n == 0 then return n end
local ttl = redis.call('PTTL', KEYS[1])
redis.call('PEXPIRE', KEYS[1], ttl > 0 and ttl or 86400000)
if ttl < 0 then redis.call('PERSIST', KEYS[1]) end
return n`
		return append([]string{"EVAL", noticed, "1", args[1], args[0]}, args[2:]...)
	}
	return args
}

// pipeline sends commands in one write and returns their replies. It closes the connection after an error,
// since the remaining replies have no request.
func (l *link) pipeline(commands [][]string) ([]resp.Reply, error) {
	var request []byte
	for _, args := range commands {
		request = resp.AppendCommand(request, args...)
	}
	sent := make(chan error, 1)
	go func() { // net.Pipe has no buffer: the server blocks until its replies are read
		_, err := l.conn.Write(request)
		sent <- err
	}()
	replies := make([]resp.Reply, len(commands))
	for i := range commands {
		var err error
		if replies[i], err = l.reply(); err != nil {
			_ = l.conn.Close()
			return nil, errors.Join(err, <-sent)
		}
	}
	return replies, <-sent
}

func (l *link) reply() (resp.Reply, error) {
	var reply resp.Reply
	for {
		at := len(reply)
		var err error
		if reply, err = resp.ReadReply(reply, l.br, resp.Limits{Line: math.MaxInt}); err != nil {
			return nil, errors.Join(errGone, err)
		}
		if reply[at] != '>' {
			return shortened(reply), nil
		}
	}
}

// shortened limits the error for an unknown command, as Redis does (server.c, commandCheckExistence): miniredis repeats
// all arguments, of any length.
func shortened(reply resp.Reply) resp.Reply {
	const most = 256
	if len(reply) <= most || !bytes.HasPrefix(reply, []byte("-ERR unknown command")) {
		return reply
	}
	return append(reply[:most:most], "\r\n"...)
}

func (l *link) close() {
	l.b.mu.Lock()
	delete(l.b.links, l)
	l.b.mu.Unlock()
	_ = l.conn.Close()
}

// close cuts all links and accepts no new ones.
func (b *backend) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.down = true
	for l := range b.links {
		_ = l.conn.Close()
	}
}

func (b *backend) open() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.down = false
}

// cut closes the connections to a backend that keeps running.
func (b *backend) cut() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for l := range b.links {
		_ = l.conn.Close()
	}
}

// present reports whether the proxy sends keys to this backend: an ejecting proxy skips failed ones.
func (b *backend) present() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.down && !b.ejected
}

// Down makes a backend unreachable until [Proxy.Up]: it cuts the connections and refuses new ones. The data
// stays. A command in flight gets the proxy's error for a broken connection and may have been executed.
func (p *Proxy) Down(backend int) { p.backends[backend].close() }

// Up makes a backend reachable again.
func (p *Proxy) Up(backend int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.backends[backend].open()
	}
}

// FlushScripts clears the script cache of one backend, as a restart or a failover would: the next EVALSHA
// there returns NOSCRIPT. The error reports an unreachable backend.
func (p *Proxy) FlushScripts(backend int) error {
	_, err := p.exec(p.ctx, backend, "", []string{"SCRIPT", "FLUSH"})
	return err
}

// exec runs one command on its own connection.
func (p *Proxy) exec(ctx context.Context, backend int, database string, args []string) (resp.Reply, error) {
	l, err := p.backends[backend].connect(ctx, database)
	if err != nil {
		return nil, err
	}
	defer l.close()
	return l.do(args)
}
