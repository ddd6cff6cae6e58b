package probe

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/unwatch/unwatch/internal/resp"
	"github.com/unwatch/unwatch/internal/wrap"
)

// askExpiry tests whether PEXPIRE works and which command deletes keys. Without PEXPIRE, the probe writes
// by SET with an expiry only.
func (p *prober) askExpiry(ctx context.Context) error {
	key := p.keys.home(0, "expiry")
	if _, _, err := p.do(ctx, set(key, "probe")); err != nil {
		return err
	}
	replies, outcome, err := p.do(ctx, []string{"PEXPIRE", key, lifetimeText()})
	if err != nil {
		return err
	}
	text, failed := first(replies).ErrorText()
	switch p.expires = isOne(first(replies)); {
	case p.expires:
	case failed:
		p.report.WritesSkipped = "PEXPIRE: " + p.mask(text)
	case outcome != OK:
		p.report.WritesSkipped = "PEXPIRE: " + string(outcome)
	default:
		p.report.WritesSkipped = "PEXPIRE did not find the key"
	}
	for _, name := range []string{"DEL", "UNLINK"} { // if both fail, DEL is used
		deleted, err := p.find(ctx, name, key)
		if err != nil {
			return err
		}
		if deleted == Works {
			p.deletes = name
			break
		}
	}
	return nil
}

// mayStay reports whether a question could leave a key without an expiry.
func (p *prober) mayStay(q question) bool {
	return !p.expires && writes(q.name) && !q.harmless()
}

// harmless reports whether a question sets an expiry itself, or does not write.
func (q question) harmless() bool {
	return q.name == "SET" && slices.Contains(q.args, "PX") || q.name == "EVAL" || q.name == "EVALSHA"
}

// ask sends one question and records the answer.
func (p *prober) ask(ctx context.Context, q question) error {
	replies, outcome, err := p.store(ctx, q)
	if err == nil {
		p.put(q, replies, outcome)
	}
	return err
}

// store sends a question, renews the expiry of the keys that it may have written, and records the keys
// without an expiry or with a possible late write.
func (p *prober) store(ctx context.Context, q question) ([]resp.Reply, Outcome, error) {
	commands := q.flush(writes)
	if len(commands) == 1 || q.harmless() {
		return p.do(ctx, q.args)
	}
	var before []string
	for _, c := range commands[1:] {
		key := c[1]
		if p.keys.late[key] {
			before = append(before, key)
		}
		p.keys.late[key], p.keys.bare[key] = true, true
	}
	replies, outcome, err := p.do(ctx, commands...)
	if err != nil {
		return replies, outcome, err
	}
	definite := isDefinite(q, first(replies)) && !p.retried
	if outcome == Closes && len(replies) == 0 {
		p.cut = append(p.cut, q)
		definite = true
	}
	for i, c := range commands[1:] {
		if definite && !slices.Contains(before, c[1]) {
			delete(p.keys.late, c[1])
		}
		// The proxy may reorder a pipeline, so PEXPIRE may have been executed first.
		if i+1 < len(replies) && isOne(replies[i+1]) {
			delete(p.keys.bare, c[1])
			continue
		}
		again, _, err := p.do(ctx, c)
		if err != nil {
			return replies, outcome, err
		}
		if _, answered := first(again).Int(); answered { // 0: the key does not exist
			delete(p.keys.bare, c[1])
		}
	}
	return replies, outcome, nil
}

// isDefinite reports whether the reply proves that the command was executed, or never will be. Some proxies
// execute a command after they have reported an error.
func isDefinite(q question, reply resp.Reply) bool {
	if len(reply) == 0 {
		return false
	}
	outcome, text := classify(q, reply)
	return outcome != Failed || resp.MeaningOf(text).NotDone()
}

// isOne reports whether PEXPIRE set an expiry.
func isOne(r resp.Reply) bool {
	n, ok := r.Int()
	return ok && n == 1
}

// cleanUp deletes the probe's keys, also after ctx has ended, and counts those that may remain. If a late
// write is possible, it replaces the key with a value that expires: a late HSET then finds another type,
// and creates no key.
func (p *prober) cleanUp(ctx context.Context) {
	if len(p.keys.used) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	for _, q := range p.cut {
		if p.report.base == nil || p.oracle.expect(p.report.base, q) != Closes {
			for _, key := range q.keysIn() {
				p.keys.late[key] = true
			}
		}
	}
	var commands [][]string
	ends := map[string]int{} // the index of the command that deletes the key
	for _, key := range slices.Sorted(maps.Keys(p.keys.used)) {
		end := []string{p.deletes, key}
		switch {
		case p.keys.late[key]:
			end = set(key, "")
		case p.keys.bare[key]:
			commands = append(commands, []string{"PEXPIRE", key, lifetimeText()})
		}
		ends[key] = len(commands)
		commands = append(commands, end)
	}
	if p.report.Scripts.Eval == Works {
		// If the proxy looks at the first key only, the copy is on the server of its original, and DEL does
		// not find it.
		commands = append(commands, []string{"EVAL", scriptDelOther, "2", p.keys.home(0, "s"), p.keys.home(0, "copy")})
	}
	var replies []resp.Reply
	if c, err := p.dial(ctx); err == nil {
		c.Timeout = min(farewell, max(p.cfg.Timeout, time.Millisecond))
		replies, _ = c.Pipeline(ctx, commands...)
		c.Close()
		p.report.Sent += len(commands)
	}
	for key, at := range ends {
		p.count(key, at, replies)
	}
}

// count records the end of a key from the reply at index at.
func (p *prober) count(key string, at int, replies []resp.Reply) {
	ended := false
	if at < len(replies) {
		text, failed := replies[at].ErrorText()
		if resp.MeaningOf(text) == resp.Moved {
			return // the key belongs to another node, so it was never written
		}
		ended = !failed
	}
	expires := !p.keys.bare[key]
	if at > 0 && at <= len(replies) && !expires && !p.keys.late[key] {
		_, expires = replies[at-1].Int()
	}
	switch {
	case ended && !p.keys.late[key]:
		return
	case !ended && (!expires || p.keys.late[key]):
		p.report.Lasting++
	}
	p.report.Left++
}

// lasting describes the keys that may remain; empty: none.
func (r *Report) lasting() string {
	if r.Lasting == 0 {
		return ""
	}
	return fmt.Sprintf("%s may stay for ever, for that it expires was not acknowledged: look for keys that begin with %q",
		wrap.Counted(r.Lasting, "key"), r.Prefix)
}
