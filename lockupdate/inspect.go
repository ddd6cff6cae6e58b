package lockupdate

import (
	"context"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// Holder is who has a lock, for operators. The zero Holder is nobody.
type Holder struct {
	// Owner is "uuid:seq" for a Store, whose uuid is the same for all that it
	// holds. Other programs of the same layout use other names.
	Owner string
	// Count is how often the owner has taken the lock. A Store counts in memory,
	// so it is always 1 there.
	Count int
	// TTL is what is left of the lease; negative: it does not end.
	TTL time.Duration
	// Age is for how long the owner has had the lock, by our clock and its own,
	// if it is a Store; 0: not known.
	Age time.Duration
	// Waited reports whether another process waits for it.
	Waited bool
}

// Inspect tells who holds the lock of name, with one round trip. What it says may be
// over by the time it is read.
func (s *Store) Inspect(ctx context.Context, name string) (Holder, error) {
	key := rmw.Key{Name: name}
	if err := s.begin(ctx, key); err != nil {
		return Holder{}, fail("inspect", key, 0, err)
	}
	defer s.gate.Leave()
	lock, err := s.lockName(name)
	if err != nil {
		return Holder{}, fail("inspect", key, 0, err)
	}
	c := inspectScript.on(lock)
	if err = s.run(ctx, c); err == nil {
		var h Holder
		if h, err = holderOf(c, time.Now()); err == nil {
			return h, nil
		}
	}
	return Holder{}, fail("inspect", key, 0, redisx.Blame(ctx, err))
}

// holderOf reads the answer of inspect.lua.
func holderOf(c *call, now time.Time) (Holder, error) {
	list, err := c.reply()
	if err != nil {
		return Holder{}, err
	}
	if len(list) < 2 || len(list)%2 != 0 {
		return Holder{}, errOddReply
	}
	kind, _ := list[0].(string)
	pttl, ok := list[1].(int64)
	switch {
	case !ok:
		return Holder{}, errOddReply
	case kind != "hash" && kind != "none":
		return Holder{}, notALock(c.key, kind)
	}
	h := Holder{TTL: time.Duration(pttl) * time.Millisecond}
	for i := 2; i < len(list); i += 2 {
		field, _ := list[i].(string)
		value, _ := list[i+1].(string)
		if field == "?" {
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

// since returns when an owner that owners has named got its name, or unknown.
func since(owner string, unknown time.Time) time.Time {
	id, seq, ok := strings.Cut(owner, ":")
	if !ok || len(id) != 36 || id[14] != '7' {
		return unknown
	}
	ms, err1 := hex.DecodeString("0000" + id[:8] + id[9:13])
	us, err2 := strconv.ParseInt(seq, 10, 64)
	if err1 != nil || err2 != nil {
		return unknown
	}
	var born int64
	for _, b := range ms {
		born = born<<8 | int64(b)
	}
	return time.UnixMilli(born).Add(time.Duration(us) * time.Microsecond)
}
