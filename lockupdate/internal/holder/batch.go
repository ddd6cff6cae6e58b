package holder

import (
	"context"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/lockupdate/internal/driver"
	"github.com/unwatch/unwatch/lockupdate/internal/event"
	"github.com/unwatch/unwatch/rmw"
)

func newBatch(v rmw.Value) batch { return batch{base: v, value: v} }

// add adds a call after its fn has returned.
func (b *batch) add(c *Call) {
	if len(b.calls) == 0 {
		b.began, b.reads = time.Now(), driver.ReadSet{Partial: true}
	}
	b.reads.Add(c.reads)
	b.calls = append(b.calls, c)
	if !c.wrote {
		return
	}
	b.writes++
	switch {
	case !c.after.Exists():
		b.ttl = 0
	case c.ttl != 0:
		b.ttl = c.ttl
	case !b.value.Exists(): // a new key has no expiry, unlike the deleted one
		b.ttl = rmw.NoTTL
	}
	b.value = c.after
}

// changes reports whether there is anything to write.
func (b *batch) changes() bool { return b.ttl != 0 || !b.value.Equal(b.base) }

// request is the commit of the batch.
func (b *batch) request(key rmw.Key) driver.CommitRequest {
	return driver.CommitRequest{Key: key, Base: b.base, Next: b.value, Reads: b.reads, TTL: b.ttl}
}

// knownSince reports whether the read with the sequence number asOf was sent during every
// call, so that its value is recent enough for all of them.
func (b *batch) knownSince(asOf uint64) bool {
	for _, c := range b.calls {
		if c.seq > asOf {
			return false
		}
	}
	return true
}

// rebase applies the changes of the calls to the hash of the key at the commit.
func (b *batch) rebase(held rmw.Value) {
	b.base, b.value = held, held
	for _, c := range b.calls {
		c.rebase(b.value)
		b.value = c.after
	}
}

// caller is the call of the batch. Several calls have the key in common, and no ctx.
func (b *batch) caller() event.Call {
	c := b.calls[0].caller(b.calls[0].ctx)
	if len(b.calls) > 1 {
		c.Ctx = nil
	}
	return c
}

// failLocked answers the calls that failed with the commit, and returns the others:
// their given values may never have been stored.
func (b *batch) failLocked(err error) (others []*Call) {
	for _, c := range b.calls {
		if c.wrote || !b.changes() {
			c.answerLocked(c.failure(), c.fail("commit", redisx.Blame(context.WithoutCancel(c.ctx), err)))
		} else {
			others = append(others, c)
		}
	}
	return others
}
