package operate

import (
	"slices"
	"time"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// Report is the result of one [Verify]. Each chosen key is in one of the counts from Open to
// Failed.
type Report struct {
	Scanned
	// Open counts the keys that the old store serves.
	Open int
	// Equal counts the keys that have moved and still have the value and the expiry of the move.
	Equal int
	// ChangedSince counts the keys that have moved and have another value or expiry now. An update
	// since the move has that effect, and so has a wrong copy.
	ChangedSince int
	// Transit counts the keys with a half-done move. Some are normal while keys move. A Sweep
	// completes them.
	Transit Keys
	// OldestTransit is the age of the oldest marker of a key in Transit, from the clock of the server
	// that made it to the clock of this process.
	OldestTransit time.Duration
	// Gone counts the keys that were deleted or expired after SCAN returned them.
	Gone int
	// TooLarge counts the keys in the old store that do not move because of cutover.Config.MaxSeal.
	TooLarge Keys
	// OtherType counts the keys in the old store that hold neither a string nor a hash.
	OtherType Keys
	// FieldExpiry counts the hashes in the old store that do not move because their fields have an expiry.
	FieldExpiry Keys
	// Missing counts the keys that moved with a value and are absent in the new store now: deleted or
	// expired since, or forgotten by a failover of the new store. The marker in the old store still has
	// the value. They are among ChangedSince.
	Missing Keys
	// TwoHomes counts the keys with a value in both stores. Either the new store has a value of its
	// own, or a blind write, such as SET, has destroyed the marker in the old one, or a
	// failover of a store has forgotten a seal. Processes use the old value.
	TwoHomes Keys
	// Unmarked counts the keys with a value in the new store and nothing in the old one: a write has
	// destroyed the marker, or a failover of the old store has forgotten the seal of an absent key.
	// Processes use the value while the stage moves the key to the new store, and find it absent
	// otherwise. Only a pass over SweepConfig.NewMasters finds all of them.
	Unmarked Keys
	// Expiring counts the keys with a marker that has an expiry. When the marker expires, its value is
	// lost, or every process finds the key absent. PERSIST keeps the marker.
	Expiring Keys
	// Forgotten counts the keys for which a store has lost an acknowledged step, as after a
	// failover. The next call or Sweep repairs the key from its marker.
	Forgotten Keys
	// Leftover counts the names that only the new store has, with a marker: the key has expired or was
	// deleted in the old store, which is its home. They do no harm before Complete. A Sweep over
	// SweepConfig.NewMasters removes the markers.
	Leftover Keys
	// Failed counts the keys for which a store did not answer.
	Failed Keys
	// Cause is the error of the last Failed key.
	Cause error
}

// Stay is the number of keys in the old store that cannot move: TooLarge, OtherType and FieldExpiry.
func (r Report) Stay() int { return r.TooLarge.Count + r.OtherType.Count + r.FieldExpiry.Count }

// Wrong is the number of keys in a state that an operator must look at: TwoHomes, Unmarked,
// Expiring, Forgotten and Failed.
func (r Report) Wrong() int {
	return r.TwoHomes.Count + r.Unmarked.Count + r.Expiring.Count + r.Forgotten.Count + r.Failed.Count
}

// AtOld says whether no key of the old store is, even in part, in the new one, and whether no name was
// left out: a way back has ended, and programs without this package miss no key.
func (r Report) AtOld() bool {
	return r.Equal+r.ChangedSince+r.Transit.Count+r.Wrong() == 0 && r.LeftOut.Count == 0 &&
		r.Masters == r.AllMasters && r.NewMasters == r.AllNewMasters && r.NewMasters > 0
}

// keyState is the state of a key in both stores, at about one moment.
type keyState struct {
	is  status
	age time.Duration // of inTransit
	err error         // of unanswered
}

type status uint8

const (
	unanswered status = iota
	atOld
	equal
	changed
	inTransit
	absent
	large
	foreign
	withFieldExpiry
	missing
	twoHomes
	noMarker
	expiring
	forgotten
	leftover
	statuses // their number
)

func (s keyState) wrong() bool {
	return slices.Contains([]status{unanswered, twoHomes, noMarker, expiring, forgotten}, s.is)
}

func (r *Report) put(name string, s keyState) {
	counts := [statuses]*int{
		atOld: &r.Open, equal: &r.Equal, changed: &r.ChangedSince, missing: &r.ChangedSince, absent: &r.Gone,
	}
	if count := counts[s.is]; count != nil {
		*count++
	}
	named := [statuses]*Keys{
		inTransit: &r.Transit, large: &r.TooLarge, foreign: &r.OtherType, withFieldExpiry: &r.FieldExpiry, missing: &r.Missing,
		twoHomes: &r.TwoHomes, noMarker: &r.Unmarked, expiring: &r.Expiring, forgotten: &r.Forgotten, leftover: &r.Leftover,
		unanswered: &r.Failed,
	}
	if keys := named[s.is]; keys != nil {
		r.add(keys, name)
	}
	if s.is == unanswered {
		r.Cause = redisx.Fail("cutover", "verify", rmw.Key{Name: name}, 0, s.err)
	}
	r.OldestTransit = max(r.OldestTransit, s.age)
}
