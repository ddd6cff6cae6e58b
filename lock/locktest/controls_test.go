package locktest

import (
	"context"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lock"
)

// flaw is a mistake that real lock helpers make.
type flaw string

const (
	noLock                flaw = "runs fn without a lock"
	checkThenSet          flaw = "looks whether the lock is free, and takes it in a second step"
	processOwner          flaw = "takes all of a process for one owner"
	goroutineOwner        flaw = "takes a goroutine for the owner"
	foreverOwner          flaw = "takes fn's ctx for the owner's for ever"
	releasesAnyones       flaw = "gives back a lock without looking whose it is"
	keepsOnPanic          flaw = "gives back only when fn returns"
	swallowsPanic         flaw = "turns fn's panic into an error"
	wrapsError            flaw = "wraps fn's error"
	callersCtx            flaw = "gives back with the caller's ctx, which has ended"
	ignoresEnded          flaw = "starts with an ended ctx"
	ignoresCtx            flaw = "waits on when ctx has ended"
	plainCtxError         flaw = "does not say that it was waiting for others"
	ghost                 flaw = "takes the lock for a waiter who has given up"
	tryWaits              flaw = "waits in TryLock"
	losesWakeUp           flaw = "loses a wake-up"
	oneForAll             flaw = "has one lock for all names"
	trims                 flaw = "trims names"
	lowers                flaw = "ignores case, as a collation does"
	hashTag               flaw = "takes the hash tag for the name"
	truncates             flaw = "cuts long names"
	anyName               flaw = "locks the empty name"
	callsNil              flaw = "takes the lock before it looks at fn"
	freshCtx              flaw = "gives fn a ctx of its own"
	elsewhere             flaw = "runs fn on another goroutine"
	neverRenews           flaw = "does not renew"
	recreates             flaw = "takes a lost lock back with a renewal"
	noticesLate           flaw = "tells fn only when the lease is over"
	stallUntold           flaw = "leaves it to a timer to end fn's ctx"
	stallHidden           flaw = "returns nil though its lease ended before a timer could tell"
	noCause               flaw = "ends fn's ctx without a cause"
	hidesLoss             flaw = "returns nil though the lock was lost"
	innerGivesAway        flaw = "gives the lock back when the inner fn returns"
	innerFailureGivesAway flaw = "gives the lock back when the inner fn fails"
	outerGivesAway        flaw = "gives the lock back although an inner fn still runs"
	waitsForItself        flaw = "waits for its own lock"
	downIsTaken           flaw = "says that a lock is taken when the store is down"
	failsOpen             flaw = "runs fn when the store is down"
	staysDown             flaw = "does not come back with the store"
	worksClosed           flaw = "works on when it is closed"
	waitsClosed           flaw = "waits on when it is closed"
	ownTokens             flaw = "counts tokens in each process by itself"
	earlyToken            flaw = "draws the token before it has the lock"
	changingToken         flaw = "draws another token whenever it is asked"
	tokenOfTheEnded       flaw = "gives out a token after fn has returned"
	tokenOfTheLost        flaw = "gives out the token of a lost lock"
	outerToken            flaw = "leaves its ctx the token of an outer lock"
	closesOthers          flaw = "gives back others' locks when it is closed"
)

// controls names, for each flaw, the clauses that must fail because of it.
func controls() map[flaw][]string {
	return map[flaw][]string{
		noLock:                {"runs", "excludes", "try-taken", "waits", "other-ctx"},
		checkThenSet:          {"excludes"},
		processOwner:          {"excludes", "other-ctx"},
		goroutineOwner:        {"nested-elsewhere"},
		foreverOwner:          {"stale-ctx"},
		releasesAnyones:       {"not-anothers"},
		keepsOnPanic:          {"panic", "goexit"},
		swallowsPanic:         {"panic", "nested-fails"},
		wrapsError:            {"error", "nested-fails"},
		callersCtx:            {"ctx-ended-in-fn"},
		ignoresEnded:          {"ctx-ended-before", "nested-fails"},
		ignoresCtx:            {"ctx-ended-waiting"},
		plainCtxError:         {"ctx-ended-waiting"},
		ghost:                 {"ctx-ended-waiting"},
		tryWaits:              {"try-taken"},
		losesWakeUp:           {"everybody"},
		oneForAll:             {"names-are-apart", "two-locks"},
		trims:                 {"odd-names"},
		lowers:                {"odd-names"},
		hashTag:               {"odd-names"},
		truncates:             {"odd-names"},
		anyName:               {"invalid"},
		callsNil:              {"invalid"},
		freshCtx:              {"ctx-values", "ctx-ended-in-fn"},
		elsewhere:             {"goroutine"},
		neverRenews:           {"renewed", "taken-away"},
		recreates:             {"taken-away", "not-anothers"},
		noticesLate:           {"cut-off"},
		stallUntold:           {"stall"},
		stallHidden:           {"stall"},
		noCause:               {"taken-away", "cut-off"},
		hidesLoss:             {"taken-away"},
		innerGivesAway:        {"nested"},
		innerFailureGivesAway: {"nested-fails"},
		outerGivesAway:        {"nested-outlives"},
		waitsForItself:        {"nested", "nested-refused"},
		downIsTaken:           {"unavailable"},
		failsOpen:             {"unavailable"},
		staysDown:             {"unavailable"},
		worksClosed:           {"closed"},
		waitsClosed:           {"closed"},
		closesOthers:          {"closed"},
		ownTokens:             {"token"},
		earlyToken:            {"token"},
		changingToken:         {"token"},
		tokenOfTheEnded:       {"token"},
		tokenOfTheLost:        {"token-lost", "token-after-stall"},
		outerToken:            {"token", "token-none"},
	}
}

// naiveTarget has naive Lockers. Plain ones are not reentrant and have no tokens.
func naiveTarget(f flaw, plain bool) Target {
	store := &naiveStore{locks: map[string]naiveLock{}}
	id := 0
	return Target{
		Open: func(tb testing.TB) lock.Locker {
			id++
			return &naive{naiveStore: store, flaw: f, plain: plain, id: id, over: tb.Context().Done()}
		},
		Reentrant: !plain,
		Tokens:    !plain,
		Lease:     naiveLease,
		Faults: Faults{
			TakeAway: func(_ context.Context, name string) error {
				store.mu.Lock()
				defer store.mu.Unlock()
				delete(store.locks, name)
				return nil
			},
			Cut:   func(l lock.Locker) func() { return l.(*naive).disconnect() },
			Stall: func(l lock.Locker, d time.Duration) { l.(*naive).stall(d) },
		},
	}
}

// TestControls runs the suite over each Locker with a flaw and requires the clauses of the
// flaw to fail. If one passes, it proves nothing.
func TestControls(t *testing.T) {
	byName := map[string]Clause{}
	for _, c := range Clauses() {
		byName[c.Name] = c
	}
	unproved := map[string]bool{}
	for name := range byName {
		unproved[name] = true
	}
	run := func(controls map[flaw][]string, target func(f flaw, clause string) Target) {
		for f, names := range controls {
			for _, name := range names {
				delete(unproved, name)
				t.Run(string(f)+"/"+name, func(t *testing.T) {
					clause, ok := byName[name]
					require.True(t, ok, "no clause %q", name)
					synctest.Test(t, func(t *testing.T) {
						err := clause.Check(t, target(f, name))
						require.Error(t, err, "clause %q does not notice a Locker that %s", name, f)
						assert.NotContains(t, err.Error(), "cannot be checked")
						t.Log(err)
					})
				})
			}
		}
	}
	run(controls(), func(f flaw, clause string) Target {
		return naiveTarget(f, clause == "nested-refused" || clause == "token-none")
	})
	run(flawedControls(), func(f flaw, _ string) Target { return flawedTarget(f) })
	assert.Empty(t, unproved, "clauses that no control fails")
}

// TestNoFlawNoFailure shows that a Locker of the controls fails for its flaw and nothing
// else.
func TestNoFlawNoFailure(t *testing.T) {
	for _, plain := range []bool{true, false} {
		RunFake(t, func(*testing.T) Target { return naiveTarget("", plain) })
	}
	RunFake(t, func(*testing.T) Target { return flawedTarget("") })
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

// The clauses that disturb the lock service run alone.
func TestAlone(t *testing.T) {
	disturbs := regexp.MustCompile("restart|disturb|fail over|set the clock")
	for _, c := range Clauses() {
		assert.Equal(t, disturbs.MatchString(c.Missing(Target{})), c.alone, c.Name)
	}
}
