package proxytest

import (
	"bufio"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/unwatch/unwatch/internal/resp"
	"github.com/unwatch/unwatch/proxycompat"
)

// maxPipeline limits the unanswered commands of one connection in Codis (session_max_pipeline); beyond it
// Codis resets the connection.
const maxPipeline = 10000

// session is one client connection. One goroutine reads, another executes and answers.
type session struct {
	p     *Proxy
	id    int
	conn  net.Conn
	queue *queue
	gone  chan struct{} // closed when the client has disconnected
	once  sync.Once

	unanswered atomic.Int64 // commands read and not yet answered

	// Used by the executing goroutine only.
	links    map[int]*link // by backend
	database string        // selected, as text
	authed   bool
	pin      pinned
	rng      *rand.Rand // see interleave
	calm     bool       // see CalmOptions
	tunnel   bool       // replies are relayed as they come: a subscriber
}

func newSession(p *Proxy, id int, conn net.Conn) *session {
	return &session{
		p: p, id: id, conn: conn,
		queue: newQueue(), gone: make(chan struct{}), links: map[int]*link{},
		database: "0", authed: p.cfg.Password == "", pin: pinned{backend: Local},
	}
}

// cut closes the client connection.
func (s *session) cut() { s.once.Do(func() { _ = s.conn.Close() }) }

// read reads commands until the connection ends. Commands that arrive together form one batch, which is a
// pipeline.
func (s *session) read() {
	defer close(s.gone)
	defer s.queue.close()
	br := bufio.NewReaderSize(s.conn, 64<<10)
	var scratch [][]byte
	for {
		args, err := resp.ReadCommand(br, resp.Limits{})
		if err != nil {
			if errors.Is(err, resp.ErrProtocol) {
				s.cut()
			}
			return
		}
		batch := [][]string{args}
		for br.Buffered() > 0 {
			buf, _ := br.Peek(br.Buffered())
			var n int
			n, scratch, err = resp.ScanCommand(buf, scratch, resp.Limits{})
			if n == 0 || err != nil {
				break // incomplete or malformed: the next ReadCommand reports it
			}
			if len(scratch) > 0 {
				batch = append(batch, resp.Strings(scratch))
			}
			_, _ = br.Discard(n)
		}
		room := maxPipeline - int(s.unanswered.Add(int64(len(batch)))) + len(batch)
		if len(batch) > room && s.p.codis() {
			s.queue.put(batch[:max(room, 0)])
			s.cut()
			return
		}
		s.queue.put(batch)
	}
}

// run executes and answers until the client has disconnected and the queue is empty.
func (s *session) run() {
	defer func() {
		s.cut()
		for _, l := range s.links {
			l.close()
		}
	}()
	for {
		batch := s.queue.take()
		if batch == nil || !s.serve(batch) {
			return
		}
		s.unanswered.Add(-int64(len(batch)))
	}
}

// serve executes one batch and reports whether to continue.
func (s *session) serve(batch [][]string) bool {
	began := time.Now()
	outcomes := make([]*outcome, len(batch))
	last := &outcome{}
	for _, i := range s.order(batch) {
		o := s.handle(batch[i])
		outcomes[i] = &o
		if last.then == goOn || o.then != goOn {
			last = &o
		}
		if o.then != goOn && (o.then != hang || s.p.profile.Server()) {
			break // a proxy sends the commands for other backends on, while one does not answer
		}
	}
	if last.then != closeMute { // twemproxy: earlier replies are lost, too
		s.reply(outcomes, began)
	}
	if last.then == hang {
		s.hang(last.hangs)
	}
	return last.then == goOn
}

// reply writes the replies up to the first command without one: clients match replies by their order. A reply
// that is late holds back those after it.
func (s *session) reply(outcomes []*outcome, began time.Time) {
	var out []byte
	write := func() {
		if len(out) > 0 {
			// A failed write is no reason to stop: commands already received are executed even if the client has
			// disconnected.
			_, _ = s.conn.Write(out)
		}
		out = nil
	}
	defer func() { write() }()
	for _, o := range outcomes {
		if o == nil || o.then == hang {
			return
		}
		reply := o.reply
		if o.late != nil {
			write()
			if reply = o.late.await(s); reply == nil {
				return
			}
		}
		if left := o.after - time.Since(began); left > 0 {
			write()
			if !s.p.wait(left) {
				return
			}
		}
		if out = append(out, reply...); o.then != goOn {
			return
		}
	}
}

// hang waits until the client has disconnected, or for d if it is not 0.
func (s *session) hang(d time.Duration) {
	var over <-chan time.Time
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		over = t.C
	}
	select {
	case <-over:
	case <-s.gone:
	case <-s.p.ctx.Done():
	}
}

// wait waits for d, and reports whether the proxy still runs.
func (p *Proxy) wait(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-p.ctx.Done():
		return false
	}
}

// outcome is the result of a command.
type outcome struct {
	reply   resp.Reply
	backend int
	then    then
	hangs   time.Duration // with hang: the time until the connection is closed; 0: never
	after   time.Duration // since the batch came, before the reply
	late    *late         // the reply comes when the backend wakes up; or nil
	verdict proxycompat.Verdict
}

// then is the state of the connection after a command.
type then uint8

const (
	goOn       then = iota
	closeMute       // close; not even earlier replies are delivered
	closeAfter      // deliver the replies up to and with this one, then close
	hang            // deliver earlier replies, never answer this one
)
