package lockupdate

import (
	"encoding/base64"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// ownerMark begins every owner's name. By it, acquire.lua knows a holder that reads and
// deletes the waiters' note in its lock; a lock of any other holder must not be touched.
const ownerMark = "unwatch:"

// noteField is the field of a lock with the waiters' note. No owner has this name.
const noteField = "unwatch-waiting"

// owners names the acquisitions of one Store, "unwatch:id:time": no two have the same, in
// any process. id is a UUID in base64, 22 characters. time is that of the acquisition, in microseconds since 1970
// to the base 36, so that the name also tells an operator how long its holder has had the
// lock.
type owners struct {
	id   string
	last atomic.Int64
}

func newOwners() *owners {
	id := uuid.New()
	return &owners{id: ownerMark + base64.RawURLEncoding.EncodeToString(id[:])}
}

// next names an acquisition.
func (o *owners) next() string {
	for {
		last := o.last.Load()
		at := max(last+1, time.Now().UnixMicro())
		if o.last.CompareAndSwap(last, at) {
			return o.id + ":" + strconv.FormatInt(at, 36)
		}
	}
}

// processOf returns the common prefix of the names of one Store's owners.
func processOf(owner string) string { return owner[:max(0, strings.LastIndexByte(owner, ':'))] }

// since returns when an owner that owners has named got its name, or unknown.
func since(owner string, unknown time.Time) time.Time {
	if !strings.HasPrefix(owner, ownerMark) {
		return unknown
	}
	_, at, ok := strings.Cut(owner[len(ownerMark):], ":")
	us, err := strconv.ParseInt(at, 36, 64)
	if !ok || err != nil {
		return unknown
	}
	return time.UnixMicro(us)
}
