package zklock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/adapters/zklock"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/driver"
)

// ensemble is a ZooKeeper of three members.
type ensemble []*servers.Server

func TestLongFailover(t *testing.T) {
	long.Only(t)
	t.Parallel()
	e := ensemble(servers.ZooKeeper(t, 3))
	t.Run("leader killed", func(t *testing.T) { e.survives(t, "leader") })
	t.Run("follower killed", func(t *testing.T) { e.survives(t, "follower") })
	t.Run("most down", e.losesMost)
	t.Run("most hang", e.losesTouchWithMost)
}

// with returns the members that play a part, and the others.
func (e ensemble) with(t *testing.T, mode string) (with, others []*servers.Server) {
	t.Helper()
	for _, s := range e {
		if is, err := servers.ZooKeeperMode(t.Context(), s); err == nil && is == mode {
			with = append(with, s)
		} else {
			others = append(others, s)
		}
	}
	require.NotEmpty(t, with, mode)
	return with, others
}

func (e ensemble) open(t *testing.T, lease time.Duration, members ...*servers.Server) *process {
	return open(t, members, zklock.Config{Config: driver.Config{Lease: lease}})
}

// contend has l hold a lock for which another Locker waits. It reports an overlap, and returns both tokens.
func (e ensemble) contend(t *testing.T, l, other *process, name string) (held lock.Hold, before uint64, next chan uint64) {
	held = hold(t, l, name)
	holder := held.Context()
	next = make(chan uint64, 1)
	go func() {
		defer close(next)
		err := errors.New("not yet")
		for err != nil && t.Context().Err() == nil { // a waiter may lose its session, too
			err = other.WithLock(t.Context(), name, func(ctx context.Context) error {
				assert.Error(t, holder.Err(), "two hold the lock")
				token, err := lock.Token(ctx)
				next <- token
				return err
			})
		}
	}()
	return held, sequencer(t, held).Token, next
}

func (e ensemble) survives(t *testing.T, mode string) {
	const lease = 30 * time.Second
	l := e.open(t, lease, e...)
	held, before, next := e.contend(t, l, e.open(t, lease, e...), mode)
	killed, _ := e.with(t, mode)
	require.NoError(t, killed[0].Kill())
	require.NoError(t, e.open(t, lease, e...).WithLock(t.Context(), mode+" alive", nothing))
	eventually(t, "renewed", func() bool {
		l.Renew()
		return lock.StateOf(held.Context()) == lock.Safe && l.Check(t.Context(), sequencer(t, held)) == nil
	})
	assert.Empty(t, next)
	require.NoError(t, held.Unlock())
	assert.Greater(t, <-next, before)
	require.NoError(t, killed[0].Restart(t.Context()))
}

func sequencer(t *testing.T, held lock.Hold) lock.Sequencer {
	s, err := lock.SequencerOf(held.Context())
	require.NoError(t, err)
	return s
}

// serves waits until a majority answers: the members have just restarted, and the lease is short.
func (e ensemble) serves(t *testing.T) {
	l := e.open(t, 30*time.Second, e...)
	eventually(t, "serves", func() bool { return l.WithLock(t.Context(), "serves", nothing) == nil })
}

// Without a majority nothing can be renewed. The hold ends, and the next begins after that.
func (e ensemble) losesMost(t *testing.T) {
	e.serves(t)
	held, before, next := e.contend(t, e.open(t, lease, e...), e.open(t, lease, e...), "most")
	for _, s := range e[:2] {
		require.NoError(t, s.Kill())
	}
	ends(t, held)
	assert.Empty(t, next)
	restarted := make(chan error, 2)
	for _, s := range e[:2] {
		go func() { restarted <- s.Restart(t.Context()) }() // neither is ready alone
	}
	require.NoError(t, errors.Join(<-restarted, <-restarted))
	require.Error(t, held.Unlock())
	assert.Greater(t, <-next, before)
}

// A member that is cut off from the others answers reads for a while. The hold is in jeopardy
// meanwhile: the others may have ended its session.
func (e ensemble) losesTouchWithMost(t *testing.T) {
	e.serves(t)
	followers, others := e.with(t, "follower")
	alone := followers[0]
	others = append(others, followers[1:]...)
	held, before, next := e.contend(t, e.open(t, lease, alone), e.open(t, lease, others...), "hang")
	admin := connect(t, []*servers.Server{alone})
	_, _, err := admin.Exists("/")
	require.NoError(t, err)
	for _, s := range others {
		require.NoError(t, s.Pause())
		t.Cleanup(func() { _ = s.Resume() }) // before the Lockers are closed
	}
	eventually(t, "jeopardy", func() bool { return lock.StateOf(held.Context()) != lock.Safe })
	_, _, err = admin.Exists("/")
	assert.NoError(t, err, "the member does not answer reads, so this shows nothing")
	ends(t, held)
	assert.Empty(t, next)
	for _, s := range others {
		require.NoError(t, s.Resume())
	}
	require.Error(t, held.Unlock())
	assert.Greater(t, <-next, before)
}
