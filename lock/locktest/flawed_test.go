package locktest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/driver"
	"github.com/unwatch/unwatch/rmw"
)

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
	keepsGhost        flaw = "keeps a lock alive of whose grant it never heard"
	frees             flaw = "frees the lock of any owner"
	polls             flaw = "polls"
	tokensOfData      flaw = "counts tokens in data that can be lost"
	tokensOfClock     flaw = "takes tokens from the wall clock"
	forgetsLocks      flaw = "forgets locks in a restart"
	wallLeases        flaw = "counts leases by the wall clock"
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
		lossIsRefusal:     {"acquire-reply-lost", "late-acquire"},
		keepsGhost:        {"acquire-reply-lost", "late-acquire"},
		frees:             {"not-anothers", "release-reply-lost", "late-release"},
		polls:             {"order", "bounded-waiting", "no-herd"},
		tokensOfData:      {"token-over-failover"},
		tokensOfClock:     {"token-over-failover"},
		forgetsLocks:      {"restart", "failover"},
		wallLeases:        {"clock-forward", "clock-back"},
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
		allExpired:        {"told", "told-session", "told-max-hold"},
		waitUntold:        {"told-waiting"},
		waitEndUntold:     {"told-waiting"},
		waitTwice:         {"told-waiting"},
	}
}

// flawed is a Memory with a flaw.
type flawed struct {
	*Memory

	flaw flaw
}

// flawedTarget has flawed Lockers. It declares all that a Memory can.
func flawedTarget(f flaw) Target {
	cfg := driver.Config{LockDelay: 2 * time.Second}
	if f == polls {
		cfg.Poll = rmw.Backoff{Base: 5 * time.Millisecond, Max: 5 * time.Millisecond}
	}
	maxHold := time.Duration(0)
	if f == neverEnds || f == untimely || f == lossNameless || f == allExpired {
		maxHold = time.Minute
		cfg.MaxHold = maxHold
	}
	if f == untimely {
		cfg.MaxHold = maxHold - time.Second
	}
	m := NewMemory(cfg)
	data := &flawedData{granted: map[string]bool{}, last: map[string]lock.Info{}}
	begin := func(tb testing.TB, m *Memory) lock.Locker {
		m.start(flawedService{m.mine, f, data})
		tb.Cleanup(func() { _ = m.Close() })
		return flawed{m, f}
	}
	restart, failover, forget, setClock := m.Restart, m.Failover, m.Forget, m.SetClock
	reconnect := (*Memory).Reconnect
	switch f {
	case forgetsLocks:
		restart, failover = m.Forget, m.Forget
	case tokensOfData:
		forget = func() { data.count = 0; m.Forget() }
	case wallLeases:
		setClock = func(d time.Duration) { m.SetClock(d); m.expire(d) }
	case connectionLocks:
		reconnect = (*Memory).Expire
	}
	return Target{
		Open:    func(tb testing.TB) lock.Locker { return begin(tb, m.Peer()) },
		Observe: func(tb testing.TB, o lock.Observer) lock.Locker { return begin(tb, m.Observed(f.observer(o))) },
		Share: func(tb testing.TB) (a, b lock.Locker) {
			first := m.Peer()
			return begin(tb, first), begin(tb, first.Twin())
		},
		Reentrant: true, Tokens: true, Lease: 10 * time.Second, LockDelay: 2 * time.Second, SlackAfterLease: time.Second,
		MaxHold: maxHold, Wanted: true,
		Session: f == claimsSession, Ordered: true, Jeopardy: true, Checks: true, Inspects: true, Data: true, SteadyClock: true,
		Requests: m.Requests,
		Patience: time.Hour,
		Faults: Faults{
			TakeAway:  m.TakeAway,
			Cut:       func(l lock.Locker) func() { return l.(flawed).Cut() },
			Stall:     func(l lock.Locker, d time.Duration) { l.(flawed).Stall(d) },
			LoseReply: func(l lock.Locker) func() { return l.(flawed).LoseReply() },
			Late:      func(l lock.Locker) func() { return l.(flawed).Late() },
			Reconnect: func(l lock.Locker) { reconnect(l.(flawed).Memory) },
			Expire:    func(l lock.Locker) { l.(flawed).Expire() },
			Restart:   restart, Failover: failover, Forget: forget, Clock: setClock,
		},
	}
}

// expire brings the ends of all leases nearer by d.
func (m *Memory) expire(d time.Duration) {
	m.store.mu.Lock()
	defer m.store.mu.Unlock()
	for _, l := range m.store.locks {
		l.expires = l.expires.Add(-d)
		l.drop("")
	}
}

// flawedData is shared by the flawed services of a test.
type flawedData struct {
	count   uint64
	granted map[string]bool // owners that heard of it
	last    map[string]lock.Info
}

// flawedService is the service of a Memory with a flaw.
type flawedService struct {
	*memoryClient

	flaw flaw
	data *flawedData
}

// at changes a lock at the store.
func (s flawedService) at(name string, change func(l *memoryLock)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s.lock(name))
}

func (s flawedService) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	switch s.flaw {
	case polls:
		r.Wait = false
	case keepsGhost:
		s.expiry = time.Hour
	case deadWaiterStays:
		s.at(r.Name, func(l *memoryLock) {
			if r.Wait && l.owner != "" && l.owner != r.Owner && l.waiter(r.Owner) == nil {
				l.queue = append(l.queue, &memoryWaiter{r.Owner, s.memoryClient, time.Now().Add(time.Hour), make(chan struct{}, 1)})
			}
		})
	case keepsData:
		s.at(r.Name, func(l *memoryLock) {
			if r.Data == nil {
				r.Data = l.data
			}
		})
	case cutsData:
		for i, b := range r.Data {
			if b == 0 {
				r.Data = r.Data[:i]
				break
			}
		}
	}
	grant, err := s.memoryClient.Acquire(ctx, r)
	switch {
	case s.flaw == lossIsRefusal && errors.Is(err, rmw.ErrUnavailable):
		return grant, rmw.ErrContended
	case err != nil:
		return grant, err
	}
	s.at(r.Name, func(l *memoryLock) {
		switch s.flaw {
		case neverExpires:
			l.expires = l.expires.Add(time.Hour)
		case expiresEarly:
			l.expires = l.expires.Add(-s.expiry / 2)
		case ignoresDelay:
			l.expires = l.expires.Add(-2 * time.Second)
		case keepsGhost:
			s.data.granted[r.Owner] = true
		case tokensOfData:
			s.data.count++
			grant.Token = s.data.count
		case tokensOfClock:
			grant.Token = uint64(time.Now().Add(s.wall).UnixMicro())
		}
	})
	return grant, nil
}

func (s flawedService) Renew(ctx context.Context, holds []*driver.Hold) error {
	s.mu.Lock()
	switch s.flaw {
	case waitsWithout:
		clear(s.gone)
	case drifts:
		s.expiry -= s.expiry / 100
	case losesAll:
		for _, h := range holds {
			if !h.Waiting() && s.lock(h.Name()).owner != h.Owner() {
				for _, h := range holds {
					h.Lose(lock.LossTaken, "another lock was lost")
				}
			}
		}
	}
	if s.flaw == neverEnds {
		for _, l := range s.locks {
			l.expires = time.Now().Add(time.Hour)
		}
	}
	s.mu.Unlock()
	if s.flaw == wantedAlways {
		for _, h := range holds {
			h.Want()
		}
	}
	return s.memoryClient.Renew(ctx, holds)
}

func (s flawedService) Release(ctx context.Context, name, owner string) error {
	switch s.flaw {
	case keepsGhost:
		if !s.data.granted[owner] {
			return nil
		}
	case neverEnds:
		return nil
	case delaysRelease:
		return s.request(func() { s.lock(name).expires = time.Now().Add(2 * time.Second) })
	case frees:
		return s.request(func() {
			l := s.lock(name)
			l.free(l.owner)
		})
	}
	return s.memoryClient.Release(ctx, name, owner)
}

func (s flawedService) Inspect(ctx context.Context, name string) (lock.Info, error) {
	info, err := s.memoryClient.Inspect(ctx, name)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.flaw {
	case showsOwner:
		info.Owner += "/host 7"
	case showsLast:
		if info.Held {
			s.data.last[name] = info
		} else {
			info = s.data.last[name]
		}
	}
	return info, err
}
