package driver

import (
	"encoding/base64"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// ownerMark begins the name of every owner. By it acquire.lua knows a holder that reads and
// deletes the wait hint in its lock. The lock of any other holder must not be touched.
const ownerMark = "unwatch:"

// hintField is the field of a lock with the wait hint. No owner has this name.
const hintField = "unwatch-waiting"

// OwnerIDs numbers and names the acquisitions of one Store. A number is the time of the
// acquisition in microseconds since 1970, a name is "unwatch:id:number": id is a UUID in
// base64, 22 characters, and the number is to the base 36. No two acquisitions have the
// same name, in any process.
type OwnerIDs struct {
	prefix string
	last   atomic.Int64
}

// NewOwnerIDs returns the names of a new Store.
func NewOwnerIDs() *OwnerIDs {
	id := uuid.New()
	return &OwnerIDs{prefix: ownerMark + base64.RawURLEncoding.EncodeToString(id[:]) + ":"}
}

// Next numbers an acquisition. The number is above 0.
func (o *OwnerIDs) Next() int64 {
	for {
		last := o.last.Load()
		at := max(last+1, time.Now().UnixMicro())
		if o.last.CompareAndSwap(last, at) {
			return at
		}
	}
}

// Name returns the name of the owner in Redis.
func (o *OwnerIDs) Name(owner int64) string {
	var room [64]byte
	return string(strconv.AppendInt(append(room[:0], o.prefix...), owner, 36))
}

// storeOf returns the common prefix of the owners of one Store.
func storeOf(owner string) string { return owner[:max(0, strings.LastIndexByte(owner, ':'))] }

// ageOf returns how long ago OwnerIDs named an owner, or 0 if it did not.
func ageOf(owner string, now time.Time) time.Duration {
	if !strings.HasPrefix(owner, ownerMark) {
		return 0
	}
	_, at, ok := strings.Cut(owner[len(ownerMark):], ":")
	us, err := strconv.ParseInt(at, 36, 64)
	if !ok || err != nil {
		return 0
	}
	return max(0, now.Sub(time.UnixMicro(us)))
}
