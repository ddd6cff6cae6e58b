package main

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A stall ends and counts after a commit of another process that was sent during it and answered.
// It ends and does not count if none comes, and then there is no further one.
func TestStalls(t *testing.T) {
	for _, tt := range []struct {
		name     string
		others   func(other *traffic)
		happened int
		within   time.Duration
	}{
		{"another process writes after a while", func(other *traffic) {
			time.Sleep(9 * time.Second)
			_ = other.write(cmds([]any{"set", "room", "v"}), sent)
		}, 1, 9 * time.Second},
		{"reads, other keys and refused commits end none", func(other *traffic) {
			_ = other.write(cmds([]any{"get", "room"}, []any{"evalsha", "a", 1, "room", "x"}, []any{"set", "another", "v"}), sent)
			_ = other.write(cmds([]any{"set", "room", "v"}), func() error { return errors.New("refused") })
			time.Sleep(time.Second)
			_ = other.write(cmds([]any{"evalsha", "a", 1, "room", "x", "y"}), sent)
		}, 1, time.Second},
		{"no other process writes", func(*traffic) {}, 0, alone},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &stalls{ctx: t.Context(), key: "room", every: 2, limit: 1}
				process := func() *traffic { return &traffic{stalls: s, keys: new(sync.Map)} }
				frozen, other := process(), process()
				commit := cmds([]any{"set", "room", "v"})
				began := time.Now()
				require.NoError(t, frozen.write(commit, sent), "the first of two")
				over, reads := make(chan struct{}), atomic.Int32{}
				go func() {
					defer close(over)
					_ = frozen.write(commit, sent)
				}()
				synctest.Wait()
				go func() { _ = frozen.write(cmds([]any{"get", "other"}), func() error { reads.Add(1); return nil }) }()
				tt.others(other)
				synctest.Wait()
				if tt.happened == 0 {
					require.Zero(t, reads.Load(), "a frozen process sends nothing")
				}
				<-over
				synctest.Wait()
				assert.EqualValues(t, 1, reads.Load())
				assert.Equal(t, tt.happened, s.count())
				assert.Equal(t, tt.within, time.Since(began))
				for range 4 {
					require.NoError(t, frozen.write(commit, sent))
				}
				assert.Equal(t, tt.within, time.Since(began), "no further stall")
			})
		})
	}
}

// A stall begins before a commit of before is answered: that one ends no stall.
func TestStallsIgnoreEarlierCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stalls{ctx: t.Context(), key: "room", every: 2, limit: 1}
		frozen, other := &traffic{stalls: s, keys: new(sync.Map)}, &traffic{stalls: s, keys: new(sync.Map)}
		commit, answer := cmds([]any{"set", "room", "v"}), make(chan struct{})
		go func() { _ = other.write(commit, func() error { <-answer; return nil }) }()
		synctest.Wait()
		go func() { _ = frozen.write(commit, sent) }()
		synctest.Wait()
		close(answer)
		synctest.Wait()
		assert.Zero(t, s.count())
		require.NoError(t, other.write(commit, sent))
		synctest.Wait()
		assert.Equal(t, 1, s.count())
	})
}

// The lease follows the time of an update in act C.
func TestLease(t *testing.T) {
	r := &rehearsal{}
	assert.Equal(t, 200*time.Millisecond, r.lease(), "it was not played")
	r.lock = &run{took: time.Second, audit: audit{Acknowledged: 1000}}
	assert.Equal(t, 80*time.Millisecond, r.lease())
	r.lock.took = time.Minute
	assert.Equal(t, 4800*time.Millisecond, r.lease())
	r.lock.took = time.Millisecond
	assert.Equal(t, 50*time.Millisecond, r.lease())
}
