package locktest

// Flaws of a lock service, of its Locker beside the engine of package driver, and of its
// Observer. The Lockers are otherwise those of Memory.
const (
	neverExpires      flaw = "keeps the lock of a crashed holder"
	expiresEarly      flaw = "ends leases early"
	deadWaiterStays   flaw = "keeps the place of a crashed waiter"
	waitsWithout      flaw = "waits on without its session"
	ignoresDelay      flaw = "ignores the lock delay"
	delaysRelease     flaw = "delays the lock after a release, too"
	freesLost         flaw = "releases a lost lock before its delay"
	lossIsRefusal     flaw = "takes a lost reply for a refusal"
	lateIsRefusal     flaw = "takes a late reply for a refusal"
	keepsGhost        flaw = "keeps a lock alive of whose grant it never heard"
	frees             flaw = "frees the lock of any owner"
	freesLate         flaw = "frees the lock of any owner by a late release"
	freesAgain        flaw = "frees the lock of any owner by a repeated release"
	freesNext         flaw = "frees the lock of the next holder when fn returns"
	secondFirst       flaw = "serves the last waiter before the one before"
	againFirst        flaw = "serves first who had the lock before"
	wakesAll          flaw = "wakes all waiters"
	polls             flaw = "polls"
	tokensOfData      flaw = "counts tokens in data that can be lost"
	tokensOfClock     flaw = "takes tokens from the wall clock"
	forgetsLocks      flaw = "forgets locks in a restart"
	forgetsReplica    flaw = "forgets locks in a failover"
	wallLeases        flaw = "ends leases if the wall clock is set forward"
	wallRests         flaw = "prolongs leases if the wall clock is set back"
	connectionLocks   flaw = "ties locks to a connection"
	losesAll          flaw = "loses all locks with one"
	claimsSession     flaw = "claims to lose all locks with one, and does not"
	closesClient      flaw = "closes the client that it shares"
	neverEnds         flaw = "renews a lock that was held for MaxHold"
	untimely          flaw = "ends a lock before MaxHold"
	wantedUntold      flaw = "does not tell that others wait"
	wantedTwice       flaw = "tells with each renewal that others wait"
	wantedAlways      flaw = "tells that others wait when none do"
	drifts            flaw = "prolongs each lease by a little less"
	checksName        flaw = "checks the name of a sequencer only"
	checksLast        flaw = "checks that no later holder has been there"
	showsLast         flaw = "shows the last holder of a free lock"
	showsOwner        flaw = "shows another owner than the holder's sequencer"
	keepsData         flaw = "shows the data of an earlier holder"
	cutsData          flaw = "cuts data at a zero byte"
	unlocksTwice      flaw = "frees the lock with a second Unlock"
	outlivesUnlock    flaw = "leaves the Context of a Hold after Unlock"
	hidesUnlock       flaw = "returns nil from Unlock of a lost lock"
	namelessLock      flaw = "has a Lock without a name"
	plainLock         flaw = "returns the error of ctx from Lock"
	keepsRefused      flaw = "keeps the lock if fn returns ErrContended"
	detaches          flaw = "detaches fn's ctx from an outer lock"
	derives           flaw = "derives fn's ctx, so that its Err does not ask an outer lock"
	alwaysSafe        flaw = "says that any lock is safe"
	neverJeopardy     flaw = "does not tell jeopardy"
	staysInJeopardy   flaw = "stays in jeopardy"
	cancelsInJeopardy flaw = "ends fn's ctx in jeopardy"
	lossTwice         flaw = "tells a loss twice"
	releaseUntold     flaw = "does not tell a release"
	refusalUntold     flaw = "does not tell a refusal"
	noHoldTime        flaw = "does not tell how long a lock was held"
	safeUntold        flaw = "does not tell the end of jeopardy"
	lossNameless      flaw = "does not tell why a lock was lost"
	sessionTaken      flaw = "tells the end of a session as the loss of a lock"
	maxHoldExpired    flaw = "tells MaxHold as the end of the lease"
	crashedLonger     flaw = "keeps the lock of a holder that is cut off for longer"
	lostToken         flaw = "keeps the token of a lock that was taken away"
	stalledToken      flaw = "keeps the token of a lock that was stopped past its lease"
	lostIsSafe        flaw = "says that a lost lock is safe"
	wrapsOwn          flaw = "wraps the error of fn"
	swallowsOwn       flaw = "turns the panic of fn into an error"
	keepsOnGoexit     flaw = "keeps the lock if fn ends its goroutine"
	hidesValues       flaw = "hides the values of the ctx"
	revivesCtx        flaw = "works with a ctx that has ended"
	freesWithCtx      flaw = "frees the lock when the ctx ends"
	plainCanceled     flaw = "does not say that a canceled call has waited"
	tryWaitsLimited   flaw = "waits in TryLock until the deadline"
	allExpired        flaw = "tells each loss as the end of the lease"
	waitUntold        flaw = "does not tell that a call waits"
	waitEndUntold     flaw = "does not tell the end of a wait"
	waitTwice         flaw = "tells twice that a call waits"
	jeopardyTwice     flaw = "tells jeopardy with each renewal that failed"
)

// flawedControls are controls of the flaws of flawedTarget.
func flawedControls() map[flaw][]string {
	return map[flaw][]string{
		neverExpires:      {"dies"},
		expiresEarly:      {"dies"},
		deadWaiterStays:   {"waiter-crashes"},
		waitsWithout:      {"waiter-loses-session"},
		ignoresDelay:      {"lock-delay"},
		delaysRelease:     {"lock-delay"},
		freesLost:         {"lock-delay-returned"},
		lossIsRefusal:     {"acquire-reply-lost"},
		lateIsRefusal:     {"late-acquire"},
		keepsGhost:        {"acquire-reply-lost", "late-acquire"},
		frees:             {"not-anothers", "release-reply-lost", "late-release"},
		freesLate:         {"late-release"},
		freesAgain:        {"release-reply-lost"},
		freesNext:         {"not-anothers"},
		secondFirst:       {"order"},
		againFirst:        {"bounded-waiting"},
		wakesAll:          {"no-herd"},
		polls:             {"order", "bounded-waiting", "no-herd"},
		tokensOfData:      {"token-over-failover"},
		tokensOfClock:     {"token-over-failover"},
		forgetsLocks:      {"restart"},
		forgetsReplica:    {"failover"},
		wallLeases:        {"clock-forward"},
		wallRests:         {"clock-back"},
		connectionLocks:   {"reconnect"},
		losesAll:          {"one-of-many"},
		claimsSession:     {"one-of-many"},
		closesClient:      {"shared-client"},
		neverEnds:         {"max-hold"},
		untimely:          {"max-hold"},
		wantedUntold:      {"wanted"},
		wantedTwice:       {"wanted"},
		wantedAlways:      {"wanted"},
		drifts:            {"for-ever"},
		checksName:        {"sequencer"},
		checksLast:        {"sequencer"},
		showsLast:         {"inspect", "data"},
		showsOwner:        {"inspect"},
		keepsData:         {"data"},
		cutsData:          {"data"},
		unlocksTwice:      {"unlock", "unlock-lost"},
		outlivesUnlock:    {"unlock"},
		hidesUnlock:       {"unlock-lost"},
		namelessLock:      {"lock-refused"},
		plainLock:         {"lock-refused"},
		keepsRefused:      {"multi"},
		detaches:          {"multi-lost", "multi-stall"},
		derives:           {"multi-stall"},
		alwaysSafe:        {"state", "jeopardy"},
		neverJeopardy:     {"jeopardy"},
		staysInJeopardy:   {"jeopardy"},
		cancelsInJeopardy: {"jeopardy"},
		lossTwice:         {"told", "told-jeopardy"},
		releaseUntold:     {"told"},
		refusalUntold:     {"told"},
		noHoldTime:        {"told"},
		safeUntold:        {"told-jeopardy"},
		jeopardyTwice:     {"told-jeopardy"},
		lossNameless:      {"told", "told-jeopardy", "told-session", "told-max-hold"},
		sessionTaken:      {"told-session"},
		maxHoldExpired:    {"told-max-hold"},
		crashedLonger:     {"dies"},
		lostToken:         {"token-lost"},
		stalledToken:      {"token-after-stall"},
		lostIsSafe:        {"state"},
		wrapsOwn:          {"error"},
		swallowsOwn:       {"panic"},
		keepsOnGoexit:     {"goexit"},
		hidesValues:       {"ctx-values"},
		revivesCtx:        {"ctx-ended-before"},
		freesWithCtx:      {"ctx-ended-in-fn"},
		plainCanceled:     {"ctx-ended-waiting"},
		tryWaitsLimited:   {"try-taken"},
		allExpired:        {"told", "told-session", "told-max-hold"},
		waitUntold:        {"told-waiting"},
		waitEndUntold:     {"told-waiting"},
		waitTwice:         {"told-waiting"},
	}
}
