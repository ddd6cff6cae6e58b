package probe

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/unwatch/unwatch/internal/resp"
)

// askExpiry tries on a key of its own whether keys can be given an expiry later, and how
// they are deleted. Without the former nothing is written but by SET, which gives one.
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
	for _, name := range []string{"DEL", "UNLINK"} { // DEL is sent too if both fail
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

// mayStay reports whether a question could leave a key for ever.
func (p *prober) mayStay(q question) bool {
	return !p.expires && writes(q.name) && !q.harmless()
}

// harmless reports whether a question that writes gives its key an expiry by itself, or
// writes nothing after all.
func (q question) harmless() bool {
	return q.name == "SET" && slices.Contains(q.args, "PX") || q.name == "EVAL" || q.name == "EVALSHA"
}

// ask asks one question and puts the answer down.
func (p *prober) ask(ctx context.Context, q question) error {
	replies, outcome, err := p.store(ctx, q)
	if err == nil {
		p.put(q, replies, outcome)
	}
	return err
}

// store asks a question, gives the keys that it may have written an expiry again, and
// remembers which of them lack it, or may be written to later.
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
		// A pipeline may be executed in any order: the expiry may have come first.
		if i+1 < len(replies) && isOne(replies[i+1]) {
			delete(p.keys.bare, c[1])
			continue
		}
		again, _, err := p.do(ctx, c)
		if err != nil {
			return replies, outcome, err
		}
		if _, answered := first(again).Int(); answered { // 0: there is no such key
			delete(p.keys.bare, c[1])
		}
	}
	return replies, outcome, nil
}

// isDefinite reports whether a reply says that the command was executed, or never will
// be. Some proxies execute a command after they have answered that it failed.
func isDefinite(q question, reply resp.Reply) bool {
	if len(reply) == 0 {
		return false
	}
	outcome, text := classify(q, reply)
	if outcome != Failed {
		return true
	}
	for _, words := range [...]string{
		"WRONGTYPE", "MOVED", "ERR syntax", "ERR wrong number", "ERR no such key", "ERR value", "ERR The XGROUP",
	} {
		if strings.HasPrefix(text, words) {
			return true
		}
	}
	return false
}

// isOne reports whether PEXPIRE gave a key an expiry.
func isOne(r resp.Reply) bool {
	n, ok := r.Int()
	return ok && n == 1
}

// cleanUp deletes what was written, also after ctx has ended, and counts what may be
// left. Where a write may yet be executed, a value with an expiry takes the place of the
// key: a late HSET finds a key of another type then, and creates none.
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
	ends := map[string]int{} // which command ends that key
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
		// Where a proxy looks at the first key only, the copy is with its original, and
		// DEL does not find it.
		commands = append(commands, []string{"EVAL", scriptDelOther, "2", p.keys.home(0, "s"), p.keys.home(0, "copy")})
	}
	var replies []resp.Reply
	if w, err := p.dial(ctx); err == nil {
		replies, _ = w.exchange(min(farewell, max(p.cfg.Timeout, time.Millisecond)), commands...)
		w.close()
		p.report.Sent += len(commands)
	}
	for key, at := range ends {
		p.count(key, at, replies)
	}
}

// count counts what became of a key whose end was the reply at that place.
func (p *prober) count(key string, at int, replies []resp.Reply) {
	ended := false
	if at < len(replies) {
		text, failed := replies[at].ErrorText()
		if strings.HasPrefix(text, "MOVED ") {
			return // a key that is on another node was never written
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

// lasting says which keys may stay; empty: none.
func (r *Report) lasting() string {
	if r.Lasting == 0 {
		return ""
	}
	return fmt.Sprintf("%s may stay for ever, for that it expires was not acknowledged: look for keys that begin with %q",
		plural(r.Lasting, "key"), r.Prefix)
}
