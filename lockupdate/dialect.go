package lockupdate

import (
	"fmt"
	"math"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// dialect puts what a Store wants of its server into commands, each on one key, and
// reads the answers. It sends nothing itself.
type dialect interface {
	// supports returns nil if values of the kind can be written under a guard.
	supports(kind rmw.Kind) error

	// acquire asks for a lock; granted tells whether it is the owner's now, and if
	// not, how long the holder's lease lasts; negative: it has no end, or that was
	// not asked.
	acquire(q question) []*call
	granted(q question, calls []*call) (granted bool, pttl time.Duration, err error)

	// renew prolongs a lease and release gives the lock back; neither touches a
	// lock that is not the owner's. answer tells whether it was, and, where the lock
	// has room for notes, within which time others ask for it again; 0 if none do.
	renew(lock, owner string, lease time.Duration) *call
	release(lock, owner string) *call
	answer(c *call) (held bool, note time.Duration, err error)

	// Where it has not, notify leaves a note that we wait, takeBack removes it, heed
	// asks for that of others, and heeded reads the answer; the calls are nil elsewhere.
	// Notes serve fairness alone: nobody waits for them where it would cost time.
	notify(q question) *call
	takeBack(q question) *call
	heed(lock string) *call
	heeded(owner string, c *call) time.Duration

	read(key rmw.Key) *call
	value(kind rmw.Kind, c *call) (rmw.Value, error)

	// peek asks for a value and its expiry at one moment, and peeked reads the answer;
	// the call is nil if that takes several.
	peek(key rmw.Key) *call
	peeked(kind rmw.Kind, c *call) (v rmw.Value, left time.Duration, err error)

	// commit writes if the key still holds what it should; verdict tells whether it
	// did, and else what the key holds, if the answer does.
	commit(w write) (*call, error)
	verdict(kind rmw.Kind, c *call) (v verdict, err error)
	// expiries tells whether a commit can leave a key's expiry as it is, and what an
	// expiry may be counted in.
	expiries() (kept bool, unit time.Duration)

	inspect(lock string) []*call
	holder(lock string, calls []*call, now time.Time) (Holder, error)

	// token draws a fencing token; nil if that takes a read and a commit.
	token(counter string, least int64, ttl time.Duration) *call
}

// question is what is asked of a lock.
type question struct {
	lock, owner string
	previous    string        // the owner before it, of the same process, if its release is on its way
	lease       time.Duration // for how long
	note        time.Duration // within which we ask again, for a holder to know; 0: nothing to tell
	polled      bool          // it was found taken before
	again       bool          // an acquire of the same owner may have been executed
}

// write is a change of one key.
type write struct {
	key       rmw.Key
	cur, next rmw.Value
	reads     reads         // what of cur must still be so
	ttl       time.Duration // as rmw.Key.TTL
	left      time.Duration // of the expiry, for a commit that cannot keep it; 0: it has none
}

// verdict is the answer to a commit.
type verdict struct {
	stored bool
	known  bool      // now is what the key holds instead
	now    rmw.Value // if stored: what the key held, if that was not all as it was read
}

func dialectOf(cfg Config) dialect {
	read := "getex" // a write, for a proxy
	if cfg.MasterReads {
		read = "get"
	}
	switch cfg.Commit {
	case CommitIFEQ:
		return &words{reads: read, swap: setIf("ifeq"), drop: wordsOf("delex", "ifeq"), keeps: true, unit: time.Millisecond}
	case CommitDELIFEQ:
		return &words{reads: read, swap: setIf("ifeq"), drop: wordsOf("delifeq"), keeps: true, unit: time.Millisecond}
	case CommitVX:
		return &words{reads: "get", swap: setIf("vx"), drop: wordsOf("delvx"), unit: time.Second}
	case CommitCAS:
		return &words{reads: "get", swap: casWord, drop: wordsOf("cad"), unit: time.Second}
	}
	return scripts{plain: cfg.Commit == CommitPlain, masters: cfg.MasterReads, wakes: cfg.NotifyRedisson}
}

// milliseconds is d as a command takes it, rounded up: 0 would be no expiry, or no note.
func milliseconds(d, unit time.Duration) int64 {
	n := d / unit
	if d%unit > 0 {
		n++
	}
	return int64(n) * unit.Milliseconds()
}

// fromMilliseconds is n, which others may have written, as a duration: at most the longest
// there is, and if it is negative -1 ms.
func fromMilliseconds(n int64) time.Duration {
	return time.Duration(min(max(n, -1), math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}

func notALock(name string, kind any) error {
	return fmt.Errorf("%w: the lock %.128q is a %v, not a lock; set Config.LockName to names that nothing else uses, and the same Config.Commit everywhere",
		rmw.ErrWrongKind, name, kind)
}
