package lockupdate

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// scripts is the dialect of servers with Lua. Its lock is a hash of the owner and the
// hold count, as Redisson's RLock and many others have it.
type scripts struct {
	plain   bool // CommitPlain
	masters bool // MasterReads
	wakes   bool // NotifyRedisson
}

func (scripts) supports(rmw.Kind) error { return nil }

func (scripts) acquire(q question) []*call {
	return []*call{acquireScript.on(q.lock, q.owner, q.lease.Milliseconds(), milliseconds(q.note, time.Millisecond), q.previous)}
}

func (scripts) granted(_ question, calls []*call) (granted bool, pttl time.Duration, err error) {
	c := calls[0]
	if c.one() {
		return true, 0, nil
	}
	list, err := c.reply()
	if err != nil {
		return false, 0, err
	}
	status, ok := list[0].(int64)
	if !ok || len(list) != 2 {
		return false, 0, c.odd()
	}
	switch status {
	case 0:
		if ms, ok := list[1].(int64); ok {
			return false, fromMilliseconds(ms), nil
		}
	case 3:
		return false, 0, fmt.Errorf("%w: the lock cannot be given an expiry: %v", rmw.ErrUnsupported, list[1])
	case 2:
		return false, 0, notALock(c.key, list[1])
	}
	return false, 0, c.odd()
}

func (scripts) renew(lock, owner string, lease time.Duration) *call {
	return renewScript.on(lock, owner, lease.Milliseconds()).hurry()
}

func (d scripts) release(lock, owner string) *call {
	if d.wakes {
		return releaseNotifyScript.on(lock, owner).hurry()
	}
	return releaseScript.on(lock, owner).hurry()
}

func (scripts) notify(question) *call                     { return nil }
func (scripts) takeBack(question) *call                   { return nil }
func (scripts) heed(string) *call                         { return nil }
func (scripts) heeded(string, *call) time.Duration        { return 0 }
func (scripts) expiries() (kept bool, unit time.Duration) { return true, time.Millisecond }

func (scripts) answer(c *call) (held bool, note time.Duration, err error) {
	n, err := c.cmd.Int64()
	return n > 0, fromMilliseconds(max(n, 1) - 1), err
}

func (d scripts) read(key rmw.Key) *call {
	var c *call
	switch hash := key.Kind == rmw.KindHash; {
	case d.masters && hash:
		c = word("hgetall", key.Name)
	case d.masters:
		c = word("get", key.Name)
	case hash:
		c = readScript.on(key.Name, "hash")
	default:
		c = readScript.on(key.Name, "string")
	}
	c.looks = true
	return c
}

func (scripts) value(kind rmw.Kind, c *call) (rmw.Value, error) {
	if c.script == nil || kind == rmw.KindString && !c.lists() {
		return c.value(kind)
	}
	list, err := c.reply()
	if err != nil {
		return rmw.Value{}, err
	}
	stored, ok := list[0].(string)
	switch {
	case !ok:
		return rmw.Value{}, c.odd()
	case stored == "none":
		return rmw.Value{}, nil
	case stored != kind.String():
		return rmw.Value{}, wrongKind(stored, kind)
	}
	return content(c, kind, list[1:])
}

func (scripts) peek(key rmw.Key) *call {
	c := peekScript.on(key.Name, key.Kind.String())
	c.looks = true
	return c
}

func (scripts) peeked(kind rmw.Kind, c *call) (v rmw.Value, left time.Duration, err error) {
	list, err := c.reply()
	if err != nil {
		return rmw.Value{}, 0, err
	}
	if len(list) < 2 {
		return rmw.Value{}, 0, c.odd()
	}
	stored, ok1 := list[0].(string)
	pttl, ok2 := list[1].(int64)
	switch {
	case !ok1 || !ok2:
		return rmw.Value{}, 0, c.odd()
	case stored == "none":
		return rmw.Value{}, 0, nil
	case stored != kind.String():
		return rmw.Value{}, 0, wrongKind(stored, kind)
	}
	v, err = content(c, kind, list[2:])
	if err != nil || !v.Exists() {
		return rmw.Value{}, 0, err
	}
	left, gone := redisx.Left(pttl)
	if gone {
		return rmw.Value{}, 0, c.odd()
	}
	return v, left, nil
}

func (scripts) inspect(lock string) []*call { return []*call{inspectScript.on(lock)} }

func (scripts) holder(lock string, calls []*call, now time.Time) (Holder, error) {
	c := calls[0]
	list, err := c.reply()
	if err != nil {
		return Holder{}, err
	}
	if len(list) < 2 || len(list)%2 != 0 {
		return Holder{}, c.odd()
	}
	kind, _ := list[0].(string)
	pttl, ok := list[1].(int64)
	switch {
	case !ok:
		return Holder{}, c.odd()
	case kind != "hash" && kind != "none":
		return Holder{}, notALock(lock, kind)
	}
	h := Holder{TTL: fromMilliseconds(pttl)}
	for i := 2; i < len(list); i += 2 {
		field, _ := list[i].(string)
		value, _ := list[i+1].(string)
		if field == noteField {
			h.Waited = true
			continue
		}
		h.Owner = field
		h.Count, _ = strconv.Atoi(value)
		h.Age = max(0, now.Sub(since(field, now)))
	}
	if h.Owner == "" {
		return Holder{}, nil // free, or left with nothing but a note
	}
	return h, nil
}

func (scripts) token(counter string, least int64, ttl time.Duration) *call {
	return tokenScript.on(counter, least, ttl.Milliseconds())
}

// maxArgs is below the 1,048,576 elements that Redis before 7, and Codis, take in
// one command.
const maxArgs = 1_000_000

var errTooLarge = fmt.Errorf("%w: the hash has too many fields to compare and write in one command; split the key", rmw.ErrInvalid)

func (d scripts) commit(w write) (*call, error) {
	if w.key.Kind == rmw.KindHash {
		c := commitHash(w, d.plain)
		if len(c.args) > header+maxArgs {
			return nil, errTooLarge
		}
		return c, nil
	}
	return commitString(w, d.plain), nil
}

func (scripts) verdict(kind rmw.Kind, c *call) (verdict, error) {
	if c.one() {
		return verdict{stored: true}, nil
	}
	list, err := c.reply()
	if err != nil {
		return verdict{}, err
	}
	switch list[0] {
	case int64(0):
		now, err := content(c, kind, list[1:])
		return verdict{known: err == nil, now: now}, err
	case int64(3):
		now, err := content(c, kind, list[1:])
		return verdict{stored: err == nil, now: now}, err
	case int64(2):
		if len(list) == 2 {
			return verdict{}, wrongKind(fmt.Sprint(list[1]), kind)
		}
	case int64(4):
		if len(list) == 2 {
			return verdict{}, fmt.Errorf("%w: the value cannot be read to compare it: %v", rmw.ErrUnsupported, list[1])
		}
	}
	return verdict{}, c.odd()
}

// digestFrom is the size of a value, in bytes, from which on the guard compares its
// SHA-1: that saves sending it back, and costs the server a tenth to a quarter more
// time for the script. Two values of the same digest have to be made on purpose, by
// somebody who may write both; then one could be taken for the other.
const digestFrom = 1 << 10

func commitString(w write, plain bool) *call {
	var given, op any = "value", "set" // constants: they cost no allocation
	was := w.cur.Text()
	switch {
	case len(was) >= digestFrom && !plain:
		sum := sha1.Sum([]byte(was))
		given, was = "sha1", hex.EncodeToString(sum[:])
	case plain:
		given, was = "any", ""
	case !w.cur.Exists():
		given = "absent"
	}
	if !w.next.Exists() {
		op = "del"
	}
	return commitStringScript.on(w.key.Name, expiry(w.ttl), given, was, op, w.next.Text())
}

// expiry is a Key.TTL as the scripts take it.
func expiry(ttl time.Duration) any {
	switch {
	case ttl == 0:
		return "keep"
	case ttl < 0:
		return "none"
	}
	return strconv.FormatInt(ttl.Milliseconds(), 10)
}
