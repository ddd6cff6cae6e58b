package rmwtest

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
)

// flaw is a mistake that real helpers around Redis make.
type flaw string

var (
	// controls names, for each flaw, the clauses that must fail because of it.
	controls = map[flaw][]string{}
	// subtle are the flaws that no other clause finds.
	subtle []flaw
)

// mustFail makes a flaw that each of the clauses must notice.
func mustFail(says string, clauses ...string) flaw {
	controls[flaw(says)] = clauses
	return flaw(says)
}

// onlyFails makes a subtle flaw, which all the other clauses pass.
func onlyFails(says string, clauses ...string) flaw {
	subtle = append(subtle, flaw(says))
	return mustFail(says, clauses...)
}

var (
	plainSet        = mustFail("writes without a guard", "guard", "no-lost-update")
	dropsTTL        = mustFail("SET without KEEPTTL", "ttl-kept")
	immortal        = mustFail("SET KEEPTTL on a key that has gone", "no-immortal-key")
	emptyIsAbsent   = mustFail("takes an empty string for an absent key", "empty-is-a-value")
	writesUnchanged = mustFail("writes what has not changed", "unchanged-writes-nothing")
	wholeHash       = mustFail("writes the whole hash back over newer fields", "hash-fields-survive")
	retriesBlindly  = mustFail("sends the write again after a lost reply", "reply-lost")
	hidesUnknown    = mustFail("reports a lost reply as a plain failure", "reply-lost")
	wrapsFnError    = mustFail("replaces fn's error by its own", "abort")
	swallowsPanic   = mustFail("turns fn's panic into an error", "panic")
	ignoresCtx      = mustFail("writes although ctx has ended", "ctx-ended-in-fn")
	cachesReads     = mustFail("answers reads from a cache", "read-is-fresh")
	locksForever    = mustFail("leaves the key locked after a panic", "panic")
	clobbersKind    = mustFail("overwrites a value of another kind", "wrong-kind")
	resends         = mustFail("sends a commit again after a lost reply", "late")
	elsewhere       = mustFail("runs fn on another goroutine", "goroutine")
	wholeSeconds    = mustFail("counts expiries in seconds", "ttl-to-the-millisecond")
	ignoresValueTTL = mustFail("ignores WithTTL when the content changed", "ttl-of-the-value")
	countsOne       = mustFail("always says that fn was called once", "guard")
	peeksNoTTL      = mustFail("drops the expiry in Peek", "peek", "peek-to-the-end")
	peeksStale      = mustFail("answers Peek from a cache", "peek-is-fresh")
	peeksOldTTL     = mustFail("tells the expiry of the first Peek for ever", "peek-is-fresh")
	peeksApart      = mustFail("looks at the value, and then at the expiry", "peek-of-one-moment")
	peeksRounded    = mustFail("rounds the time left down to nothing", "peek-to-the-end")
	peeksAnyKind    = mustFail("lets Peek take another kind for an absent key", "peek-fails-as-read")
	peeksAtOdds     = mustFail("takes a Peek that got no answer for one of an absent key", "peek-survives")
	plainDelete     = onlyFails("deletes without a guard", "guard-delete")
	deletesByLength = onlyFails("compares a string by its length before deleting it", "guard-delete")
	deletesByNames  = onlyFails("compares a hash by its field names before deleting it", "guard-delete")
	guardsLength    = onlyFails("compares a string by its length", "guard-every-byte", "guard-delete", "large-value")
	guardsLetters   = onlyFails("compares without regard to case", "guard-every-byte", "guard-delete")
	guardsNames     = onlyFails("compares a hash by its field names", "guard-every-byte", "guard-delete", "large-value")
	guardsAllButOne = onlyFails("compares all but the last byte", "guard-every-byte", "guard-delete", "large-value")
	guardsStart     = onlyFails("compares the first 2 KB", "guard-every-byte", "guard-delete", "large-value")
	guardsMiB       = onlyFails("compares the first 2 MiB", "large-value")
	losesLarge      = onlyFails("loses a value of more than 2 MiB", "large-value")
	readWaits       = onlyFails("ignores ctx in a Read that waits for a writer", "ctx-ended-waiting")
	sharesLocks     = onlyFails("spreads its keys over 16 mutexes", "nested")
	leaks           = onlyFails("leaves a goroutine behind in each Update", "goroutines-end")
)

// checkFlaw runs the clause over a naive Store with the flaw, on fake time.
func checkFlaw(t *testing.T, clause Clause, f flaw) (err error) {
	synctest.Test(t, func(t *testing.T) { err = checkFlawNow(t, clause, f) })
	return err
}

func checkFlawNow(t *testing.T, clause Clause, f flaw) error {
	m := NewMemory()
	n := newNaive(m, f)
	defer close(n.end)
	return clause.Check(t.Context(), Target{Open: func() rmw.Store { return n }, Direct: m, Faults: m})
}

func clauseNamed(t *testing.T, name string) Clause {
	t.Helper()
	i := slices.IndexFunc(Clauses(), func(c Clause) bool { return c.Name == name })
	require.GreaterOrEqual(t, i, 0, "no clause %q", name)
	return Clauses()[i]
}

// TestControls runs the suite over each naive Store and requires the clause that
// names its flaw to fail. If one passes, that clause proves nothing.
func TestControls(t *testing.T) {
	for f, names := range controls {
		for _, name := range names {
			t.Run(string(f)+"/"+name, func(t *testing.T) {
				assert.Error(t, checkFlaw(t, clauseNamed(t, name), f), "clause %q does not notice that the store %s", name, f)
			})
		}
	}
}

// A naive Store without a flaw fails no clause, and one with a subtle flaw only those that
// name it.
func TestControlsFailNothingElse(t *testing.T) {
	for _, f := range append([]flaw{""}, subtle...) {
		t.Run(string(f), func(t *testing.T) {
			var failed []string
			for _, clause := range Clauses() {
				if checkFlaw(t, clause, f) != nil {
					failed = append(failed, clause.Name)
				}
			}
			assert.ElementsMatch(t, controls[f], failed)
		})
	}
}

// No bubble counts the goroutines in Run, but a clause does.
func TestRunCountsGoroutines(t *testing.T) {
	t.Parallel()
	clause := clauseNamed(t, "goroutines-end")
	require.NoError(t, checkFlawNow(t, clause, ""))
	require.ErrorContains(t, checkFlawNow(t, clause, leaks), "naive")
}

// Every clause has a unique name and a sentence.
func TestClausesReadWell(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Clauses() {
		assert.False(t, seen[c.Name], "clause %q stands twice", c.Name)
		seen[c.Name] = true
		assert.Regexp(t, `^([A-Z]|fn).*\.$`, c.Says, c.Name)
	}
}
