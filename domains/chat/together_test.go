package chat_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/domains/chat"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
)

// together lets many do something at once, each in a process of their own.
func together(w world, many int, do func(rooms chat.Rooms, i int)) {
	var wg sync.WaitGroup
	for i := range many {
		rooms := w.another()
		wg.Go(func() { do(rooms, i) })
	}
	wg.Wait()
}

// The last place is given to one.
func TestJoinTogether(t *testing.T) {
	const many, places = 20, 10
	everywhere(t, func(t *testing.T, w world) {
		_, err := w.Create(t.Context(), "7", op("create", 0), chat.Room{Cap: places})
		require.NoError(t, err)
		var mu sync.Mutex
		in := map[string]bool{}
		together(w, many, func(rooms chat.Rooms, i int) {
			who := fmt.Sprint("m", i)
			room, err := rooms.Join(t.Context(), "7", op(who, 1), who, chat.Member{})
			if err != nil {
				assert.ErrorIs(t, err, chat.ErrRoomFull)
				return
			}
			assert.Contains(t, room.Members, who)
			mu.Lock()
			in[who] = true
			mu.Unlock()
		})
		room, err := w.Get(t.Context(), "7")
		require.NoError(t, err)
		assert.Len(t, in, places)
		assert.Len(t, room.Members, places)
		for who := range in {
			assert.Contains(t, room.Members, who, "who was told to be in is in")
		}
		assert.Equal(t, uint64(1+places), room.Version)
		assert.Empty(t, brokenState(&room))
	})
}

// While owners leave and others come, somebody who is in owns the room, and nobody is
// lost.
func TestOwnersLeaveWhileOthersJoin(t *testing.T) {
	const many = 10
	everywhere(t, func(t *testing.T, w world) {
		_, err := w.Create(t.Context(), "7", op("create", 0), chat.Room{StayOpen: true})
		require.NoError(t, err)
		for i := range many {
			_, err = w.Join(t.Context(), "7", op(fmt.Sprint("old", i), i), fmt.Sprint("old", i), chat.Member{})
			require.NoError(t, err)
		}
		together(w, 2*many, func(rooms chat.Rooms, i int) {
			var room chat.Room
			var err error
			if who := fmt.Sprint("old", i); i < many {
				room, err = rooms.Leave(t.Context(), "7", op("leave"+who, 20), who)
			} else {
				who := fmt.Sprint("new", i)
				room, err = rooms.Join(t.Context(), "7", op(who, 20+i), who, chat.Member{})
			}
			assert.NoError(t, err)
			assert.Empty(t, brokenState(&room))
		})
		room, err := w.Get(t.Context(), "7")
		require.NoError(t, err)
		assert.Len(t, room.Members, many)
		assert.Contains(t, room.Members, room.OwnerID)
		assert.Equal(t, uint64(1+3*many), room.Version)
	})
}

// Every message gets a number of its own, and no number is left out.
func TestPostTogether(t *testing.T) {
	const many, each = 10, 3
	everywhere(t, func(t *testing.T, w world) {
		_, err := w.Create(t.Context(), "7", op("create", 0), chat.Room{})
		require.NoError(t, err)
		for i := range many {
			_, err = w.Join(t.Context(), "7", op(fmt.Sprint("join", i), i), fmt.Sprint("m", i), chat.Member{})
			require.NoError(t, err)
		}
		var mu sync.Mutex
		var numbers []uint64
		together(w, many, func(rooms chat.Rooms, i int) {
			last := uint64(0)
			for n := range each {
				seq, room, err := rooms.Post(t.Context(), "7", op(fmt.Sprint("post", i, n), 20), fmt.Sprint("m", i))
				assert.NoError(t, err)
				assert.Greater(t, seq, last)
				assert.Equal(t, seq, room.Seq)
				last = seq
				mu.Lock()
				numbers = append(numbers, seq)
				mu.Unlock()
			}
		})
		slices.Sort(numbers)
		for i, n := range numbers {
			require.Equal(t, uint64(i+1), n)
		}
		assert.Len(t, numbers, many*each)
	})
}

// A message whose answer was lost has one number, however often it is sent: no gap,
// and no double.
func TestPostAfterALostAnswer(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		_, err := w.Create(t.Context(), "7", op("create", 0), chat.Room{})
		require.NoError(t, err)
		_, err = w.Join(t.Context(), "7", op("join", 0), "ann", chat.Member{})
		require.NoError(t, err)
		posted := uint64(0)
		for _, kind := range []rmwtest.FaultKind{rmwtest.RequestLost, rmwtest.ReplyLost} {
			for n, struck := 1, true; struck; n++ {
				posted++
				o := op(fmt.Sprint(kind, n), n)
				stop := w.Faults.Arm(n, rmwtest.Fault{Kind: kind})
				var seq uint64
				err := rmw.ErrOutcomeUnknown
				for try := 0; err != nil && try < 10; try++ {
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					seq, _, err = w.another().Post(ctx, "7", o, "ann")
					cancel()
					if try == 0 {
						struck = stop()
					}
				}
				require.NoError(t, err)
				require.Equal(t, posted, seq, "%v %d", kind, n)
				synctest.Wait()
			}
		}
		room, err := w.Get(t.Context(), "7")
		require.NoError(t, err)
		assert.Equal(t, posted, room.Seq)
		assert.Equal(t, posted+2, room.Version)
	})
}

// The id of another operation is no message's: there is no number that it could have.
func TestPostByTheIDOfAnother(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		_, err := w.Create(t.Context(), "7", op("create", 0), chat.Room{})
		require.NoError(t, err)
		_, err = w.Join(t.Context(), "7", op("a", 0), "ann", chat.Member{})
		require.NoError(t, err)
		before := w.stored(t, "7")
		seq, room, err := w.Post(t.Context(), "7", op("a", 1), "ann")
		require.ErrorIs(t, err, rmw.ErrInvalid)
		assert.Nil(t, domains.RefusalOf(err))
		assert.Zero(t, seq)
		assert.Equal(t, chat.Room{}, room)
		assert.True(t, before.Equal(w.stored(t, "7")))

		seq, _, err = w.Post(t.Context(), "7", op("a", 1).For("post"), "ann")
		require.NoError(t, err)
		assert.Equal(t, uint64(1), seq)
	})
}

// A refusal is an answer like another: who asks again gets it again, or the place that
// has become free.
func TestRefusedOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, w world) {
		_, err := w.Create(t.Context(), "7", op("create", 0), chat.Room{Cap: 1})
		require.NoError(t, err)
		_, err = w.Join(t.Context(), "7", op("a", 1), "ann", chat.Member{})
		require.NoError(t, err)
		for range 2 {
			_, err = w.another().Join(t.Context(), "7", op("b", 2), "bob", chat.Member{})
			require.EqualError(t, err, `room "7": the room is full: 1 of 1 are in`)
			assert.Same(t, chat.ErrRoomFull, domains.RefusalOf(err))
			assert.False(t, rmw.Retryable(errors.Unwrap(err)))
		}
		_, err = w.SetCap(t.Context(), "7", op("c", 3), 2)
		require.NoError(t, err)
		room, err := w.another().Join(t.Context(), "7", op("b", 2), "bob", chat.Member{})
		require.NoError(t, err)
		assert.Equal(t, sec(3), room.Members["bob"].JoinedAt, "the room has seen a later time")
	})
}
