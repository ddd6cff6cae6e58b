package lock_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/rmw"
)

// A text that String has not written is refused, and leaves the Sequencer as it was.
func TestBadSequencers(t *testing.T) {
	before := lock.Sequencer{Name: "a", Owner: "b", Token: 7}
	for _, text := range []string{
		"", ".", "..", "YQ.Yg", "YQ.Yg.", "YQ.Yg.7.", "YQ.Yg.7.8", "YQ.Yg.-7", "YQ.Yg.+7", "YQ.Yg.07", "YQ.Yg. 7", "YQ.Yg.7\n", "YQ.Yg.0x7",
		"YQ.Yg.1_0", "YQ.Yg.18446744073709551616", "YQ==.Yg.7", "YR.Yg.7", "Y.Yg.7", "Y\nQ.Yg.7", "a+b/.Yg.7", "YQ.Yg.seven",
		strings.Repeat("x", 1<<20),
	} {
		s := before
		err := s.UnmarshalText([]byte(text))
		require.ErrorIs(t, err, rmw.ErrInvalid, "%.80q", text)
		assert.Less(t, len(err.Error()), 500)
		assert.Equal(t, before, s)
	}
}

// Any text is refused, or is the text of the Sequencer that is read from it.
func FuzzSequencer(f *testing.F) {
	for _, s := range []lock.Sequencer{{}, {Name: "a", Owner: "b", Token: 7}, {Name: "\x00\xff", Owner: "a.b", Token: math.MaxUint64}} {
		f.Add([]byte(s.String()))
	}
	f.Add([]byte("YQ.Yg.+7"))
	f.Add([]byte("YQ.Y\ng.07"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var s lock.Sequencer
		if err := s.UnmarshalText(text); err != nil {
			require.ErrorIs(t, err, rmw.ErrInvalid)
			return
		}
		assert.Equal(t, string(text), s.String())
	})
}

func TestTokenNeedsALock(t *testing.T) {
	_, err := lock.Token(t.Context())
	assert.ErrorIs(t, err, rmw.ErrInvalid)
	assert.ErrorContains(t, err, "pass the ctx that WithLock or Update gave to fn")
}

func TestEventString(t *testing.T) {
	for want, e := range map[string]lock.Event{
		`lock acquired "room:7" label="room" service=redis took=1ms`: {
			Kind: lock.EventAcquired, Service: "redis", Lock: "room:7", Label: "room", Took: time.Millisecond,
		},
		`lock lost "room:7" service=etcd took=2s loss=session err="session ended"`: {
			Kind: lock.EventLost, Service: "etcd", Lock: "room:7", Took: 2 * time.Second,
			Loss: lock.LossSession, Err: errors.New("session ended"),
		},
	} {
		assert.Equal(t, want, e.String())
	}
}
