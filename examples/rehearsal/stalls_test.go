package main

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/examples/rehearsal/internal/wire"
)

// A stall ends and counts after an update by another process, however long that takes.
func TestStalls(t *testing.T) {
	commit := []wire.Command{{Name: "SET", Key: "room", Args: 1}}
	for _, tt := range []struct {
		name     string
		others   func(s *stalls)
		happened int
		within   time.Duration
	}{
		{"another process writes after an hour", func(s *stalls) {
			time.Sleep(time.Hour)
			s.before(1)(nil, commit)
			s.wrote("room", 1)
		}, 1, time.Hour},
		{"a commit of before is answered", func(s *stalls) {
			time.Sleep(time.Minute)
			s.wrote("room", 1)
			s.before(1)(nil, []wire.Command{{Name: "SET", Key: "another", Args: 1}})
			s.wrote("room", 1)
			time.Sleep(time.Minute)
			s.before(1)(nil, commit)
			s.wrote("another", 1)
			time.Sleep(time.Minute)
			s.wrote("room", 1)
		}, 1, 3 * time.Minute},
		{"all others end", func(*stalls) { time.Sleep(time.Minute) }, 0, time.Minute},
		{"all others end at once", func(*stalls) {}, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &stalls{ctx: t.Context(), key: "room", every: 1, limit: 1, frozen: -1}
				s.before(0)(wire.NewProcess(nil), commit)
				require.Negative(t, s.frozen, "no other process could end it")
				s.enter(0)
				s.enter(1)
				began, ended := time.Now(), make(chan struct{})
				go func() {
					s.before(0)(wire.NewProcess(nil), commit)
					close(ended)
				}()
				synctest.Wait()
				tt.others(s)
				s.leave(1)
				<-ended
				assert.Equal(t, tt.happened, s.count())
				assert.Equal(t, tt.within, time.Since(began))
				s.enter(1)
				assert.Equal(t, tt.happened == 0, s.due(0), "again, until it has happened often enough")
			})
		})
	}
}

// The lease follows the reply times of the proxy, without the time of stalls.
func TestLease(t *testing.T) {
	r := &rehearsal{stage: &stage{proxy: endpoint{addr: "proxy"}, ping: time.Millisecond}}
	assert.Equal(t, 25*time.Millisecond, r.lease())
	r.stage.measured(endpoint{addr: "legacy"}, wire.Stats{RoundTrips: 1, Waited: time.Hour})
	r.stage.measured(endpoint{addr: "proxy"}, wire.Stats{})
	assert.Equal(t, 25*time.Millisecond, r.lease())
	r.stage.measured(endpoint{addr: "proxy"}, wire.Stats{RoundTrips: 100, Waited: 5 * time.Second})
	assert.Equal(t, 500*time.Millisecond, r.lease())
	r.stage.measured(endpoint{addr: "proxy"}, wire.Stats{RoundTrips: 100, Waited: time.Second})
	assert.Equal(t, 500*time.Millisecond, r.lease(), "it was busy, and may be again")
}
