package rmwtest

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
)

// flaw is a mistake that real helpers around Redis make.
type flaw string

const (
	plainSet        flaw = "writes without a guard"
	dropsTTL        flaw = "SET without KEEPTTL"
	immortal        flaw = "SET KEEPTTL on a key that has gone"
	emptyIsAbsent   flaw = "takes an empty string for an absent key"
	writesUnchanged flaw = "writes what has not changed"
	wholeHash       flaw = "writes the whole hash back over newer fields"
	retriesBlindly  flaw = "sends the write again after a lost reply"
	hidesUnknown    flaw = "reports a lost reply as a plain failure"
	wrapsFnError    flaw = "replaces fn's error by its own"
	swallowsPanic   flaw = "turns fn's panic into an error"
	ignoresCtx      flaw = "writes although ctx has ended"
	cachesReads     flaw = "answers reads from a cache"
	locksForever    flaw = "leaves the key locked after a panic"
	clobbersKind    flaw = "overwrites a value of another kind"
	resends         flaw = "sends a commit again after a lost reply"
	elsewhere       flaw = "runs fn on another goroutine"
	wholeSeconds    flaw = "counts expiries in seconds"
	ignoresValueTTL flaw = "ignores WithTTL when the content changed"
	countsOne       flaw = "always says that fn was called once"
	peeksNoTTL      flaw = "drops the expiry in Peek"
	peeksStale      flaw = "answers Peek from a cache"
	peeksOldTTL     flaw = "tells the expiry of the first Peek for ever"
	peeksApart      flaw = "looks at the value, and then at the expiry"
	peeksRounded    flaw = "rounds the time left down to nothing"
	peeksAnyKind    flaw = "lets Peek take another kind for an absent key"
	peeksAtOdds     flaw = "takes a Peek that got no answer for one of an absent key"
	plainDelete     flaw = "deletes without a guard"
	deletesByLength flaw = "compares a string by its length before deleting it"
	deletesByNames  flaw = "compares a hash by its field names before deleting it"
	guardsLength    flaw = "compares a string by its length"
	guardsLetters   flaw = "compares without regard to case"
	guardsNames     flaw = "compares a hash by its field names"
	guardsAllButOne flaw = "compares all but the last byte"
	guardsStart     flaw = "compares the first 2 KB"
	guardsMiB       flaw = "compares the first 2 MiB"
	losesLarge      flaw = "loses a value of more than 2 MiB"
	readWaits       flaw = "ignores ctx in a Read that waits for a writer"
	sharesLocks     flaw = "spreads its keys over 16 mutexes"
	leaks           flaw = "leaves a goroutine behind in each Update"
)

// controls names, for each flaw, the clauses that must fail because of it.
var controls = map[flaw][]string{
	plainSet:        {"guard", "no-lost-update"},
	dropsTTL:        {"ttl-kept"},
	immortal:        {"no-immortal-key"},
	emptyIsAbsent:   {"empty-is-a-value"},
	writesUnchanged: {"unchanged-writes-nothing"},
	wholeHash:       {"hash-fields-survive"},
	retriesBlindly:  {"reply-lost"},
	hidesUnknown:    {"reply-lost"},
	wrapsFnError:    {"abort"},
	swallowsPanic:   {"panic"},
	ignoresCtx:      {"ctx-ended-in-fn"},
	cachesReads:     {"read-is-fresh"},
	locksForever:    {"panic"},
	clobbersKind:    {"wrong-kind"},
	resends:         {"late"},
	elsewhere:       {"goroutine"},
	wholeSeconds:    {"ttl-to-the-millisecond"},
	ignoresValueTTL: {"ttl-of-the-value"},
	countsOne:       {"guard"},
	peeksNoTTL:      {"peek", "peek-to-the-end"},
	peeksStale:      {"peek-is-fresh"},
	peeksOldTTL:     {"peek-is-fresh"},
	peeksApart:      {"peek-of-one-moment"},
	peeksRounded:    {"peek-to-the-end"},
	peeksAnyKind:    {"peek-fails-as-read"},
	peeksAtOdds:     {"peek-survives"},
	plainDelete:     {"guard-delete"},
	deletesByLength: {"guard-delete"},
	deletesByNames:  {"guard-delete"},
	guardsLength:    {"guard-every-byte", "guard-delete", "large-value"},
	guardsLetters:   {"guard-every-byte", "guard-delete"},
	guardsNames:     {"guard-every-byte", "guard-delete", "large-value"},
	guardsAllButOne: {"guard-every-byte", "guard-delete", "large-value"},
	guardsStart:     {"guard-every-byte", "guard-delete", "large-value"},
	guardsMiB:       {"large-value"},
	losesLarge:      {"large-value"},
	readWaits:       {"ctx-ended-waiting"},
	sharesLocks:     {"nested"},
	leaks:           {"goroutines-end"},
}

// subtle are the flaws that no other clause finds.
var subtle = []flaw{
	plainDelete, deletesByLength, deletesByNames, guardsLength, guardsLetters, guardsNames, guardsAllButOne,
	guardsStart, guardsMiB, losesLarge, readWaits, sharesLocks, leaks,
}

// checkFlaw runs the clause over a naive Store with the flaw, on fake time.
func checkFlaw(t *testing.T, clause Clause, f flaw) (err error) {
	synctest.Test(t, func(t *testing.T) { err = checkFlawNow(t, clause, f) })
	return err
}

func checkFlawNow(t *testing.T, clause Clause, f flaw) error {
	m := NewMemory()
	n := newNaive(m, f)
	defer close(n.end)
	s := unguarded{n}
	return clause.Check(t.Context(), Target{Open: func() rmw.Store { return s }, Direct: m, Faults: m})
}

// TestControls runs the suite over each naive Store and requires the clause that
// names its flaw to fail. If one passes, that clause proves nothing.
func TestControls(t *testing.T) {
	byName := map[string]Clause{}
	for _, c := range Clauses() {
		byName[c.Name] = c
	}
	for f, names := range controls {
		for _, name := range names {
			t.Run(string(f)+"/"+name, func(t *testing.T) {
				clause, ok := byName[name]
				require.True(t, ok, "no clause %q", name)
				assert.Error(t, checkFlaw(t, clause, f), "clause %q does not notice that the store %s", name, f)
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
	for _, clause := range Clauses() {
		if clause.Name == "goroutines-end" {
			require.NoError(t, checkFlawNow(t, clause, ""))
			require.ErrorContains(t, checkFlawNow(t, clause, leaks), "naive")
			return
		}
	}
	t.Fatal("no such clause")
}

// Every clause says what it enforces, under a name of its own.
func TestClausesReadWell(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Clauses() {
		assert.False(t, seen[c.Name], "clause %q stands twice", c.Name)
		seen[c.Name] = true
		assert.Regexp(t, `^([A-Z]|fn).*\.$`, c.Says, c.Name)
	}
}
