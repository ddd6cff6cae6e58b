package locktest

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/internal/testing/long"
)

// soleFlaws has, for each clause that is not in shared, a flaw that no other clause notices. So none of these
// clauses can be left out.
func soleFlaws() map[string]flaw {
	return map[string]flaw{
		"acquire-reply-lost":   lossIsRefusal,
		"bounded-waiting":      againFirst,
		"clock-back":           wallRests,
		"clock-forward":        wallLeases,
		"closed":               worksClosed,
		"ctx-ended-before":     revivesCtx,
		"ctx-ended-in-fn":      freesWithCtx,
		"ctx-ended-waiting":    plainCanceled,
		"ctx-values":           hidesValues,
		"data":                 cutsData,
		"dies":                 crashedLonger,
		"error":                wrapsOwn,
		"failover":             forgetsReplica,
		"for-ever":             drifts,
		"goexit":               keepsOnGoexit,
		"inspect":              showsOwner,
		"invalid":              callsNil,
		"jeopardy":             cancelsInJeopardy,
		"late-acquire":         lateIsRefusal,
		"late-release":         freesLate,
		"lock-delay-returned":  freesLost,
		"lock-refused":         namelessLock,
		"max-hold":             untimely,
		"multi":                keepsRefused,
		"multi-stall":          derives,
		"nested-fails":         innerFailureGivesAway,
		"no-herd":              wakesAll,
		"not-anothers":         freesNext,
		"odd-names":            trims,
		"one-of-many":          losesAll,
		"order":                secondFirst,
		"panic":                swallowsOwn,
		"reconnect":            connectionLocks,
		"release-reply-lost":   freesAgain,
		"restart":              forgetsLocks,
		"sequencer":            checksName,
		"shared-client":        closesClient,
		"stale-ctx":            foreverOwner,
		"stall":                stallHidden,
		"state":                lostIsSafe,
		"token":                earlyToken,
		"token-after-stall":    stalledToken,
		"token-lost":           lostToken,
		"token-over-failover":  tokensOfData,
		"told":                 noHoldTime,
		"told-jeopardy":        safeUntold,
		"told-max-hold":        maxHoldExpired,
		"told-session":         sessionTaken,
		"told-waiting":         waitTwice,
		"try-taken":            tryWaitsLimited,
		"unavailable":          staysDown,
		"unlock-lost":          hidesUnlock,
		"waiter-crashes":       deadWaiterStays,
		"waiter-loses-session": waitsWithout,
		"wanted":               wantedUntold,
	}
}

// shared are clauses whose flaws others notice, too: those of what all others need, such as exclusion, and
// lock-delay, which says more than dies.
func shared() []string {
	return []string{
		"runs", "excludes", "names-are-apart", "goroutine", "unlock", "multi-lost", "waits", "everybody", "other-ctx", "two-locks",
		"nested", "nested-elsewhere", "nested-outlives", "nested-refused", "renewed", "taken-away", "cut-off", "lock-delay", "token-none",
	}
}

// Each clause has a flaw of its own, or is named as one that shares them.
func TestEachClauseHasASoleFlaw(t *testing.T) {
	var all []string
	for _, c := range Clauses() {
		all = append(all, c.Name)
	}
	listed := shared()
	for name := range soleFlaws() {
		listed = append(listed, name)
	}
	assert.ElementsMatch(t, all, listed)
}

// A flaw of soleFlaws fails its clause, and no other.
func TestLongSoleFlaws(t *testing.T) {
	long.Only(t)
	for name, f := range soleFlaws() {
		target := flawedTarget
		if _, ok := controls()[f]; ok {
			target = func(f flaw) Target { return naiveTarget(f, false) }
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var fail []string
			for _, c := range Clauses() {
				t.Run(c.Name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						if subject := target(f); c.Missing(subject) == "" && c.Check(t, subject) != nil {
							fail = append(fail, c.Name)
						}
					})
				})
			}
			assert.Equal(t, []string{name}, fail, "a Locker that %s", f)
		})
	}
}
