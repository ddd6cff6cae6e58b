package rmwtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/internal/twin"
	"github.com/unwatch/unwatch/rmw"
)

// txPart has the values of a key in the last call of a TxFunc.
type txPart struct {
	key     int
	in, out rmw.Value
	put     bool
}

// transact runs a Transact of all keys; two are named, the third is found by fn.
func (r *run) transact(s *step, written *code) {
	if r.noTx {
		return
	}
	c := r.call(r.Ctx, s, "Transact", written)
	defer c.cancel()
	var parts []txPart
	var of, err error // fn's own, and Transact's
	returned := false
	end := twin.Endings()[s.ending]
	keys := []rmw.Key{r.rkey(0, s.ttl), r.rkey(1, 0), r.rkey(2, 0)}
	order := [][]int{{0, 1, 2}, {1, 0}, {0, 1}, {2, 0, 1}}[s.edit.pick%4]
	defer func() {
		p := recover()
		if r.noTx {
			return
		}
		c.awaitRival()
		c.writeTransact(end, parts, order, keys, err)
		switch {
		case p != nil && (end.Panic == nil || p != end.Panic || c.calls < s.at):
			c.violation("Transact panicked: %v", p)
		case p != nil: // neither does a panic reach the caller of values of two moments
			c.history.end(c.effect, seenOf(parts)...)
		case !returned && !end.Exit:
			c.violation("Transact ended its goroutine")
		}
	}()
	var res rmw.TxResult
	res, err = rmw.Transact(c.ctx, r.stores[s.store].Store, func(ctx context.Context, tx *rmw.Tx) error {
		c.begin()
		parts, of = nil, nil
		for i, k := range order {
			if c.skips(i, k) && c.calls > 1 {
				continue
			}
			in := tx.Get(keys[k])
			if i == 0 { // between two Gets
				c.inFn(ctx, func(now rmw.Value) rmw.Value { return s.edits[k].apply(r.keyKinds[k], now) })
			}
			out := s.edits[k].apply(r.keyKinds[k], in)
			put := s.edits[k].name != "same" || s.edits[k].ttl != 0
			parts = append(parts, txPart{k, in.WithTrace(nil), out.WithTrace(nil), put})
			if put {
				tx.Put(keys[k], out)
			}
		}
		if c.calls >= s.at && s.ending > 0 {
			of = c.endFn(end)
		}
		return of
	}, keys[:2]...)
	returned = true
	c.stop()
	if errors.Is(err, rmw.ErrUnsupported) && c.calls == 0 {
		r.noTx = true
		return
	}
	c.judgeTx(res, err, of, parts, keys)
}

// skips reports whether only the first call of fn uses a key, which is the i-th in order.
func (s *step) skips(i, k int) bool { return i > 0 && s.skip == k+1 }

func seenOf(parts []txPart) (seen []part) {
	for _, p := range parts {
		seen = append(seen, part{key: p.key, seen: p.in})
	}
	return seen
}

// compete runs another Transact while fn runs.
func (c *call) compete() {
	began := time.Now()
	c.rivals = new(code)
	c.rivalOver = c.Go(func() { c.transact(c.rival, c.rivals) })
	c.Within(soon/4, c.rivalOver)
	c.slept += time.Since(began)
}

// awaitRival waits for the other Transact, and writes it.
func (c *call) awaitRival() {
	if c.rivals == nil {
		return
	}
	<-c.rivalOver
	in := c.fns[c.at-1]
	in.add("over := make(chan struct{})\ngo func() {\ndefer close(over)\ncalls := 0\nvar err error")
	in.take(c.rivals.all())
	in.add("}()\nselect {\ncase <-over:\ncase <-time.After(%s):\n}", goDuration(soon/4))
}

// judgeTx compares the answer of a Transact with the last call of fn.
func (c *call) judgeTx(res rmw.TxResult, err, of error, parts []txPart, keys []rmw.Key) {
	if res.Attempts != c.calls {
		c.violation("TxResult.Attempts is %d, fn was called %d times", res.Attempts, c.calls)
	}
	if err != nil && len(res.Changes) > 0 {
		c.violation("with the error %v, TxResult has Changes", err)
	}
	var done []part
	for _, p := range parts {
		c.hides(err, p.in, p.out)
		d := part{key: p.key, seen: p.in}
		if p.put && (p.out.TTL() != 0 || !p.out.Equal(p.in)) {
			if c.disturbed() { // the expiry begins when the key is opened
				d.slack = sealedFor
			}
			out, ttl := p.out, keys[p.key].TTL
			d.edit = func(rmw.Value) rmw.Value { return out }
			d.ttl = func(rmw.Value) time.Duration {
				if out.TTL() != 0 {
					return out.TTL()
				}
				return ttl
			}
		}
		done = append(done, d)
	}
	switch {
	case of != nil && err == of: //nolint:errorlint // the very error
		c.history.end(c.effect, seenOf(parts)...)
		return
	case err == nil && of != nil:
		c.violation("fn returned %v, Transact no error", of)
	case err == nil:
		c.acknowledgedTx(res, parts, done)
		c.history.end(c.effect, done...)
		return
	case errors.Is(err, rmw.ErrOutcomeUnknown):
		c.history.unknown(c.effect, done...)
	}
	c.judge(c.step, "Transact", c.calls, err, c.cancelled, c.slept)
}

func (c *call) acknowledgedTx(res rmw.TxResult, parts []txPart, done []part) {
	switch {
	case c.wasClosed:
		c.violation("Transact returned no error after Close")
	case c.step.cancel == cancelBefore:
		c.violation("Transact returned no error, and its ctx had ended before")
	case c.calls == 0:
		c.violation("Transact returned no error without a call of fn")
	}
	for i, p := range parts {
		for _, ch := range res.Changes {
			if ch.Key.Name != c.names[p.key] {
				continue
			}
			after := p.in
			if done[i].edit != nil {
				after = p.out
			}
			if !ch.Before.Equal(p.in) || !ch.After.Equal(after) || ch.Written != (done[i].edit != nil) {
				c.violation("Change of key %d: %s, %s, Written %v; fn was given %s and put %s", p.key,
					brief(ch.Before), brief(ch.After), ch.Written, brief(p.in), brief(after))
			}
		}
	}
}

// crowd runs many callers at once, over one key or many.
func (r *run) crowd(s *step) {
	first := len(r.names)
	for i := range s.spread {
		r.names = append(r.names, fmt.Sprintf("%scrowd:%d:%d", r.names[0], r.index, i))
		r.keyKinds = append(r.keyKinds, r.keyKinds[s.key])
	}
	r.writeCrowd(s)
	r.crowded = true
	defer func() {
		r.crowded = false
		for i := range s.spread {
			r.look(first + i)
		}
	}()
	var all []<-chan struct{}
	for i := range s.crowd {
		one := &step{kind: doUpdate, store: i * s.store % 2, key: first + i%s.spread, at: 1}
		one.edit = edit{name: "append", id: fmt.Sprintf("<%d.%d>", r.index, i)}
		if s.crowd > 3 && r.keyKinds[s.key] == rmw.KindHash {
			one.edit.name = "len" // fn reads all fields, so that only one order of the calls explains the value
		}
		one.pass = time.Duration(i%3) * time.Millisecond
		if i%4 == 3 && s.spread < s.crowd {
			one.kind = doRead
		}
		delay := time.Duration(i*7%5) * time.Millisecond / 2
		all = append(all, r.Go(func() {
			time.Sleep(delay)
			if one.kind == doRead {
				r.read(r.Ctx, one, nil)
				return
			}
			r.update(r.Ctx, one, nil)
		}))
	}
	for _, done := range all {
		<-done
	}
}

func (r *run) anyForeign() bool {
	return r.foreign[0].Load() || r.foreign[1].Load() || r.foreign[2].Load()
}
