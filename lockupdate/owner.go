package lockupdate

import (
	"encoding/binary"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// owners names the acquisitions of one Store, "uuid:seq": no two have the same, in
// any process. The uuid is of version 7, which tells an acquire that refuses
// somebody that this holder reads the waiters' note in its lock. It begins with the
// Store's birth in milliseconds, and seq counts the microseconds since: so the name
// of a holder also tells an operator how long it has been holding.
type owners struct {
	id   string
	born time.Time
	last atomic.Int64
}

func newOwners(now time.Time) *owners {
	id := uuid.New()
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(now.UnixMilli()))
	copy(id[:6], ms[2:])
	id[6] = 0x70 | id[6]&0x0f // version 7; the library's own would not follow a fake clock
	return &owners{id: id.String(), born: time.UnixMilli(now.UnixMilli())}
}

// next names an acquisition.
func (o *owners) next() string {
	for {
		last := o.last.Load()
		seq := max(last+1, time.Since(o.born).Microseconds())
		if o.last.CompareAndSwap(last, seq) {
			return o.id + ":" + strconv.FormatInt(seq, 10)
		}
	}
}
