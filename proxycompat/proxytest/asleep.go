package proxytest

import (
	"math/rand/v2"
	"time"

	"github.com/unwatch/unwatch/internal/resp"
)

// awake returns nil if a backend answers. Otherwise the backend executes the command after it wakes up, and
// is ejected if the proxy does so. A part of a transaction is lost with its connection.
func (b *backend) awake(s *session, args []string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.asleep {
		_ = b.keepLocked(s, args)
		return errAsleep
	}
	return nil
}

// keep returns a command that waits until the backend wakes up, or nil if the backend answers or the command
// is part of a transaction.
func (b *backend) keep(s *session, args []string) *late {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.asleep || s.pin.multi || transactional(args) {
		return nil
	}
	return b.keepLocked(s, args)
}

func (b *backend) keepLocked(s *session, args []string) *late {
	b.ejected = true
	if s.pin.multi || transactional(args) {
		return nil
	}
	c := &late{database: s.database, args: args, replied: make(chan struct{})}
	b.late = append(b.late, c)
	return c
}

// late is a command that is executed when its backend wakes up.
type late struct {
	database string
	args     []string
	replied  chan struct{} // closed after the execution
	reply    resp.Reply    // nil: it failed
}

// execute runs the command over the link of its database, or over a new one.
func (c *late) execute(p *Proxy, b *backend, links map[string]*link) {
	defer close(c.replied)
	l := links[c.database]
	if l == nil {
		var err error
		if l, err = b.connect(p.ctx, c.database); err != nil {
			return
		}
		links[c.database] = l
	}
	err := b.change(c.database, [][]string{c.args}, func() (err error) {
		c.reply, err = p.cfg.Store.ask(l, c.args)
		return err
	})
	if err != nil {
		c.reply = nil
		l.close()
		delete(links, c.database)
	}
}

// await returns the reply after the backend has woken up, or the proxy's error once it has waited for
// Config.BackendTimeout. It returns nil if the client has disconnected.
func (c *late) await(s *session) resp.Reply {
	t := time.NewTimer(s.p.cfg.BackendTimeout)
	defer t.Stop()
	select {
	case <-c.replied:
		if c.reply != nil {
			return c.reply
		}
	case <-t.C:
	case <-s.gone:
		return nil
	case <-s.p.ctx.Done():
		return nil
	}
	return localError(s.p.backendError(errAsleep)).reply
}

// wakeUp executes the commands received while the backend was asleep. A command that may block gets its own
// link.
func (b *backend) wakeUp(p *Proxy, all []*late) {
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	run := func(all []*late) {
		links := map[string]*link{}
		for _, c := range all {
			c.execute(p, b, links)
		}
		for _, l := range links {
			l.close()
		}
	}
	prompt := all[:0:0]
	for _, c := range all {
		if mayBlock([][]string{c.args}) {
			p.wg.Go(func() { run([]*late{c}) })
		} else {
			prompt = append(prompt, c)
		}
	}
	run(prompt)
}

// Sleep makes a backend hang like a stopped process. Commands for it get no reply, nor do those after them on
// their connection, until the backend wakes up or Config.BackendTimeout has passed. The backend executes them
// when it wakes up, in no order.
func (p *Proxy) Sleep(backend int) {
	b := p.backends[backend]
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asleep = true
}

// Wake ends a Sleep. The backend executes the commands that it received meanwhile.
func (p *Proxy) Wake(backend int) {
	b := p.backends[backend]
	b.mu.Lock()
	all := b.late
	b.asleep, b.ejected, b.late = false, false, nil
	b.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed && len(all) > 0 {
		p.wg.Go(func() { b.wakeUp(p, all) })
	}
}
