package lockupdate

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// words is the dialect of servers without Lua that compare and set on their own. The
// guard is the same, for strings only; the lock is a string, its owner's name. It has
// no room for a note, so that this is a key of its own, notePrefix before the lock's
// name: it serves fairness alone, and nothing depends on its being seen.
type words struct {
	reads string                                            // reads a value
	swap  func(key, old, value string, expiry ...any) *call // replaces old by value
	drop  func(key, old string) *call                       // deletes old
	keeps bool                                              // swap can keep the expiry
	unit  time.Duration                                     // of an expiry
}

const notePrefix = "/wait"

func setIf(option string) func(key, old, value string, expiry ...any) *call {
	return func(key, old, value string, expiry ...any) *call {
		return word("set", key, append([]any{value, option, old}, expiry...)...)
	}
}

func casWord(key, old, value string, expiry ...any) *call {
	return word("cas", key, append([]any{old, value}, expiry...)...)
}

func wordsOf(name string, options ...string) func(key, old string) *call {
	return func(key, old string) *call {
		args := make([]any, 0, 2)
		for _, option := range options {
			args = append(args, option)
		}
		return word(name, key, append(args, old)...)
	}
}

func (d *words) supports(kind rmw.Kind) error {
	if kind == rmw.KindString {
		return nil
	}
	return fmt.Errorf("%w: without scripts only strings can be guarded, not a Key of Kind %v; store it as a string, or use CommitGuarded where there is Lua", rmw.ErrUnsupported, kind)
}

// yes reads the answer of a command with a condition: it was met, or it was not.
func (c *call) yes() (bool, error) {
	err := c.cmd.Err()
	switch {
	case errors.Is(err, redis.Nil):
		return false, nil
	case redisx.IsWrongType(err):
		return false, fmt.Errorf("%w: %w", rmw.ErrWrongKind, err)
	case err != nil:
		return false, err
	}
	switch v := c.cmd.Val(); v {
	case "OK", int64(1):
		return true, nil
	case int64(0), int64(-1):
		return false, nil
	}
	return false, c.odd()
}

func (d *words) px(ttl time.Duration) []any { return []any{"px", milliseconds(ttl, d.unit)} }

// acquire takes a lock that is free; or of the owner before us; or, after a lost
// answer, our own. Whichever of the commands is executed first, if any takes it, it is
// ours. Only one who was refused before asks for how long.
func (d *words) acquire(q question) []*call {
	lease := d.px(q.lease)
	var calls []*call
	if q.previous != "" { // first, as it may be released meanwhile
		calls = append(calls, d.swap(q.lock, q.previous, q.owner, lease...))
	}
	calls = append(calls, word("set", q.lock, append([]any{q.owner, "nx"}, lease...)...))
	if q.again { // last, as it may come to be meanwhile
		calls = append(calls, d.swap(q.lock, q.owner, q.owner, lease...))
	}
	if q.polled || q.note == 0 { // who leaves no note will not ask again
		calls = append(calls, word("type", q.lock))
	}
	if q.polled && d.unit < time.Second { // a coarser one tells nothing of the holder
		calls = append(calls, word("pttl", q.lock))
	}
	return calls
}

func (d *words) granted(q question, calls []*call) (granted bool, pttl time.Duration, err error) {
	pttl = -1
	for _, c := range calls {
		switch c.args[0] {
		case "type":
			if kind, unknown := c.cmd.Text(); err == nil && unknown == nil && kind != "string" && kind != "none" {
				err = notALock(q.lock, kind)
			}
		case "pttl":
			if ms, unknown := c.cmd.Int64(); unknown == nil {
				if pttl = fromMilliseconds(ms); ms == -2 {
					pttl = 0 // gone meanwhile
				}
			}
		default:
			yes, refused := c.yes()
			granted = granted || yes
			// What is unknown counts for more than what is sure. Of a wrong kind, type
			// tells which.
			if !errors.Is(refused, rmw.ErrWrongKind) && (err == nil || redisx.OutcomeOf(refused) == redisx.Unknown) {
				err = refused
			}
		}
	}
	if granted {
		return true, 0, nil
	}
	return false, pttl, err
}

func (d *words) renew(lock, owner string, lease time.Duration) *call {
	return d.swap(lock, owner, owner, d.px(lease)...).hurry()
}

func (d *words) release(lock, owner string) *call { return d.drop(lock, owner).hurry() }

func (d *words) answer(c *call) (held bool, note time.Duration, err error) {
	held, err = c.yes()
	if errors.Is(err, rmw.ErrWrongKind) {
		held, err = false, nil
	}
	return held, 0, err
}

// notify says who waits, and within how many milliseconds it asks again. It lasts a
// little longer than that.
func (d *words) notify(q question) *call {
	return word("set", notePrefix+q.lock, append([]any{noteBy(q)}, d.px(2*q.note+quantum)...)...)
}

func (d *words) takeBack(q question) *call { return d.drop(notePrefix+q.lock, noteBy(q)) }

func noteBy(q question) string {
	return q.owner + " " + strconv.FormatInt(milliseconds(q.note, time.Millisecond), 10)
}

func (d *words) heed(lock string) *call { return word("get", notePrefix+lock) }

func (d *words) heeded(owner string, c *call) time.Duration {
	waiter, after := noteOf(c)
	if processOf(waiter) == processOf(owner) {
		return 0 // our own, of when we waited
	}
	return after
}

// noteOf reads a note: who waits, and within which time it asks again; 0 if nobody.
func noteOf(heed *call) (waiter string, after time.Duration) {
	text, err := heed.cmd.Text()
	if err != nil {
		return "", 0
	}
	waiter, number, _ := strings.Cut(text, " ")
	ms, err := strconv.ParseInt(number, 10, 64)
	if err != nil || ms < 0 {
		return "", 0
	}
	return waiter, fromMilliseconds(ms)
}

func (d *words) read(key rmw.Key) *call {
	c := word(d.reads, key.Name)
	c.looks = true
	return c
}

func (d *words) value(kind rmw.Kind, c *call) (rmw.Value, error) { return c.value(kind) }

func (d *words) peek(rmw.Key) *call { return nil }

func (d *words) peeked(_ rmw.Kind, c *call) (rmw.Value, time.Duration, error) {
	return rmw.Value{}, 0, c.odd()
}

func (d *words) expiries() (kept bool, unit time.Duration) { return d.keeps, d.unit }

func (d *words) commit(w write) (*call, error) {
	name, old, value := w.key.Name, w.cur.Text(), w.next.Text()
	var expiry []any
	switch {
	case w.ttl > 0:
		expiry = d.px(w.ttl)
	case w.ttl < 0:
	case w.left > 0:
		expiry = []any{"px", w.left.Milliseconds()}
	case d.keeps && w.cur.Exists():
		expiry = []any{"keepttl"}
	}
	switch {
	case !w.cur.Exists():
		return word("set", name, append([]any{value, "nx"}, expiry...)...), nil
	case !w.next.Exists():
		return d.drop(name, old), nil
	}
	return d.swap(name, old, value, expiry...), nil
}

func (d *words) verdict(_ rmw.Kind, c *call) (verdict, error) {
	stored, err := c.yes()
	return verdict{stored: stored}, err
}

func (d *words) inspect(lock string) []*call {
	return []*call{word("type", lock), word("get", lock), word("pttl", lock), d.heed(lock)}
}

func (d *words) holder(lock string, calls []*call, now time.Time) (Holder, error) {
	kind, err := calls[0].text()
	if err != nil {
		return Holder{}, err
	}
	if kind != "string" && kind != "none" {
		return Holder{}, notALock(lock, kind)
	}
	owner, err := calls[1].text()
	if errors.Is(err, redis.Nil) {
		return Holder{}, nil
	}
	pttl, errTTL := calls[2].integer()
	if err = errors.Join(err, errTTL); err != nil {
		return Holder{}, err
	}
	_, after := noteOf(calls[3])
	return Holder{
		Owner: owner, Count: 1, TTL: fromMilliseconds(pttl),
		Age: max(0, now.Sub(since(owner, now))), Waited: after > 0,
	}, nil
}

func (d *words) token(string, int64, time.Duration) *call { return nil }
