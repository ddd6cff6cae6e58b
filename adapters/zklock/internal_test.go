package zklock

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/lock/driver"
)

func TestFind(t *testing.T) {
	const first, last = "_-2147483648", "_2147483647" // of 32 bits
	for name, test := range map[string]struct {
		children []string
		owner    string
		want     place
	}{
		"empty":          {nil, "a", place{}},
		"alone":          {[]string{"a_0000000000"}, "a", place{own: "a_0000000000"}},
		"absent":         {[]string{"b_0000000000"}, "a", place{}},
		"longer owner":   {[]string{"ab_0000000000"}, "a", place{}},
		"head":           {[]string{"b_0000000002", "a_0000000001"}, "a", place{own: "a_0000000001", behind: true}},
		"directly ahead": {[]string{"c_0000000003", "a_0000000009", "b_0000000007"}, "a", place{"a_0000000009", "b_0000000007", false}},
		"no number":      {[]string{"b", "b_", "b_x", "a_0000000001"}, "a", place{own: "a_0000000001"}},
		"overflow":       {[]string{"a" + first, "b" + last}, "a", place{own: "a" + first, ahead: "b" + last}},
		"after overflow": {
			[]string{"a_-2147483647", "b" + first, "c" + last}, "a", place{own: "a_-2147483647", ahead: "b" + first},
		},
		"before it":      {[]string{"a" + first, "b" + last}, "b", place{own: "b" + last, behind: true}},
		"of nobody":      {[]string{"b_0000000002", "a_0000000001"}, "", place{own: "a_0000000001", behind: true}},
		"of an overflow": {[]string{"a" + first, "b" + last}, "", place{own: "b" + last, behind: true}},
		"of none":        {nil, "", place{}},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, test.want, find(test.children, test.owner)) })
	}
}

// The last request known to the leader is at least a quarter of a session old, or it made the connection.
func TestTouches(t *testing.T) {
	begin := time.Unix(1e9, 0)
	at := func(s float64) time.Time { return begin.Add(time.Duration(s * float64(time.Second))) }
	touches := touches{delay: 4 * time.Second}
	assert.Zero(t, touches.heard(at(100)))

	touches.connected(at(0))
	assert.Equal(t, at(0), touches.heard(at(1)), "the leader has answered itself")
	assert.Equal(t, at(-1), touches.heard(at(-1)), "a request of the connection before")
	for _, s := range []float64{1, 2, 2.5, 3, 6, 9} {
		touches.sent(at(s))
	}
	for now, want := range map[float64]float64{3: 0, 4.9: 0, 5: 1, 6.6: 2, 9.9: 3, 10: 6, 12.9: 6, 13: 9, 60: 9} {
		assert.Equal(t, at(want), touches.heard(at(now)), now)
	}
	touches.connected(at(70))
	assert.Equal(t, at(70), touches.heard(at(71)))
	for s := 71.0; s < 200; s += 0.1 {
		touches.sent(at(s))
	}
	assert.LessOrEqual(t, len(touches.times), maxTouches)
	assert.Less(t, at(200).Sub(touches.heard(at(200))), 5100*time.Millisecond)
	assert.Zero(t, touches.heard(at(100)), "forgotten")
}

// The hold ends before the session can: that is the promise of the Locker. A request that the leader has
// not heard of is a quarter of the session old at most, and the one before it was sent a third of the
// session earlier at most.
func TestLeaseEndsBeforeTheSession(t *testing.T) {
	for _, cfg := range []driver.Config{
		{}, {Lease: 4 * time.Second}, {Lease: 10 * time.Second, LockDelay: 25 * time.Second},
	} {
		s := newService(Config{Config: cfg}.withDefaults())
		assert.Equal(t, s.timeout, s.cfg.Lease+cfg.LockDelay)
		assert.Equal(t, s.timeout, s.cfg.driver().Expiry(), "a release is tried again for as long as the session lasts")
		begin := time.Unix(1e9, 0)
		s.touches.connected(begin)
		ping, renewal := s.timeout/3, s.lease/3
		for now := time.Duration(0); now < 3*s.timeout; now += time.Millisecond {
			at := begin.Add(now)
			if now%ping < time.Millisecond {
				s.touches.sent(at)
			}
			if now%renewal < time.Millisecond {
				s.touches.sent(at)
				s.heard(at)
				since := s.since(at)
				usable := s.lease - s.lease/10
				assert.LessOrEqual(t, since.Add(usable), s.touches.heard(at).Add(s.timeout), "ends with the session")
				assert.Greater(t, since.Add(usable), at.Add(renewal), "lasts until the next renewal")
			}
		}
	}
}

// A request of renewal stays below the limit of ZooKeeper, and has a path at least.
func TestFits(t *testing.T) {
	short, long := held{path: strings.Repeat("s", 100)}, held{path: strings.Repeat("l", 2*maxCheck)}
	for _, test := range []struct {
		holds []held
		want  int
	}{
		{nil, 0},
		{[]held{short, short}, 2},
		{[]held{long, short}, 1},
		{[]held{short, long, short}, 1},
		{slices.Repeat([]held{short}, 3000), maxCheck / 132},
	} {
		assert.Equal(t, test.want, fits(test.holds))
	}
}
