package transport

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/lockupdate/internal/driver"
	"github.com/unwatch/unwatch/rmw"
)

// recorder is a hook that sends nothing and records the flushes. It replies to every command with
// the number of the flush and the key.
type recorder struct {
	takes func(flush int) time.Duration

	mu    sync.Mutex
	sizes []int             // commands per flush
	ctxs  []context.Context // of each flush
}

func (r *recorder) DialHook(next redis.DialHook) redis.DialHook { return next }

func (r *recorder) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { return r.flush(ctx, cmd) }
}

func (r *recorder) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { return r.flush(ctx, cmds...) }
}

func (r *recorder) flush(ctx context.Context, cmds ...redis.Cmder) error {
	r.mu.Lock()
	n := len(r.sizes)
	r.sizes, r.ctxs = append(r.sizes, len(cmds)), append(r.ctxs, ctx)
	r.mu.Unlock()
	time.Sleep(r.takes(n))
	for _, c := range cmds {
		c.(*redisx.Command).SetVal(fmt.Sprint(n, " ", c.Args()[1]))
	}
	return nil
}

func (r *recorder) flushes() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.sizes)
}

// rig is a Transport over a recorder.
type rig struct {
	*recorder
	*Transport
}

func newRig(t *testing.T, takes func(flush int) time.Duration) *rig {
	return newRigOfPool(t, 100, takes)
}

func newRigOfPool(t *testing.T, size int, takes func(flush int) time.Duration) *rig {
	r := &recorder{takes: takes}
	rdb := redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:1", PoolSize: 100, PipelinePoolSize: size,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}, // no goroutines
	})
	rdb.AddHook(r)
	gate := redisx.NewGate()
	require.NoError(t, gate.Enter())
	t.Cleanup(func() {
		gate.Leave()
		gate.Close()
		require.NoError(t, rdb.Close())
	})
	return &rig{r, New(rdb, driver.New(driver.Options{MasterReads: true}), gate, Options{})}
}

func always(d time.Duration) func(int) time.Duration { return func(int) time.Duration { return d } }

func (r *rig) read(key string) *driver.Command { return r.Driver.Read(rmw.Key{Name: key}) }

// idle requires that no flush is in flight and no batch waits.
func (r *rig) idle(t *testing.T) {
	t.Helper()
	synctest.Wait()
	r.batcher.mu.Lock()
	defer r.batcher.mu.Unlock()
	assert.Zero(t, r.batcher.inFlight)
	assert.Empty(t, r.batcher.pending)
}

// sendWays are the ways to send commands. A batch treats them alike.
var sendWays = map[string]func(r *rig, cmds ...*driver.Command) error{
	"Send": func(r *rig, cmds ...*driver.Command) error {
		r.Send(context.Background(), cmds...)
		return nil
	},
	"Do": func(r *rig, cmds ...*driver.Command) error {
		return r.Do(context.Background(), new(Outage), cmds...)
	},
	"Do with a cancellable ctx": func(r *rig, cmds ...*driver.Command) error {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		return r.Do(ctx, new(Outage), cmds...)
	},
}

// inEachWay runs a test in its own bubble for each way to send.
func inEachWay(t *testing.T, test func(t *testing.T, send func(r *rig, cmds ...*driver.Command) error)) {
	for name, send := range sendWays {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, send) })
		})
	}
}

// start has callers send commands one after the other. wait returns the duration of each call.
// Every command must have its own reply.
func (r *rig) start(t *testing.T, callers, each int, send func(r *rig, cmds ...*driver.Command) error) (wait func() []time.Duration) {
	took := make([]time.Duration, callers)
	var wg sync.WaitGroup
	for i := range callers {
		var cmds []*driver.Command
		for n := range each {
			cmds = append(cmds, r.read(fmt.Sprint(i, "-", n)))
		}
		began := time.Now()
		wg.Go(func() {
			assert.NoError(t, send(r, cmds...))
			took[i] = time.Since(began)
			for n, c := range cmds {
				reply, err := c.Text()
				assert.NoError(t, err)
				_, key, _ := strings.Cut(reply, " ")
				assert.Equal(t, fmt.Sprint(i, "-", n), key)
			}
		})
		synctest.Wait()
	}
	return func() []time.Duration { wg.Wait(); return took }
}

// Once round trips have been long for a while, sixteen flushes are sent at once, but with a small pool no more than
// three fifths of its connections. A single short one ends that.
func TestMoreFlushesAtOnceOverLongTrips(t *testing.T) {
	for pool, far := range map[int]int{100: maxInFlightFar, 10: 6, 3: maxInFlight} {
		synctest.Test(t, func(t *testing.T) {
			trip := 2 * time.Millisecond
			r := newRigOfPool(t, pool, func(int) time.Duration { return trip })
			atOnce := func() (n int) {
				before := r.flushes()
				wait := r.start(t, 2*maxInFlightFar, 1, sendWays["Send"])
				n = r.flushes() - before
				wait()
				return n
			}
			assert.Equal(t, maxInFlight, atOnce(), "nothing is learned yet")
			for range 100 {
				r.start(t, 1, 1, sendWays["Send"])()
			}
			assert.Equal(t, far, atOnce())
			trip = longTrip / 2
			r.start(t, 1, 1, sendWays["Send"])()
			trip = 2 * time.Millisecond
			assert.Equal(t, maxInFlight, atOnce())
			r.idle(t)
		})
	}
}

// The first four flushes are sent at once. Further commands form batches of at most 256, each sent
// after a reply. A caller whose commands do not fit leads the next batch.
func TestCommandsAreBatched(t *testing.T) {
	inEachWay(t, func(t *testing.T, send func(r *rig, cmds ...*driver.Command) error) {
		r := newRig(t, always(time.Millisecond))
		for i, took := range r.start(t, maxInFlight+2*maxBatch+10, 2, send)() {
			want := time.Millisecond
			switch {
			case i >= maxInFlight+2*maxBatch:
				want *= 3
			case i >= maxInFlight:
				want *= 2
			}
			assert.Equal(t, want, took, i)
		}
		assert.Equal(t, []int{2, 2, 2, 2, 256, 256, 256, 256, 20}, r.sizes)
		r.idle(t)
	})
}

// Flushes that hang delay others until they are late, and by a few of them that are tried first.
func TestHungFlushesDelayLittle(t *testing.T) {
	inEachWay(t, func(t *testing.T, send func(r *rig, cmds ...*driver.Command) error) {
		r := newRig(t, func(flush int) time.Duration {
			if 1 <= flush && flush <= maxInFlight {
				return time.Hour
			}
			return time.Millisecond
		})
		r.start(t, 1, 1, send)()
		hung := r.start(t, maxInFlight, 1, send)
		limit := minLate + 2*time.Millisecond
		for range 20 {
			for _, took := range r.start(t, 10, 1, send)() {
				assert.LessOrEqual(t, took, limit)
			}
			limit = 2 * time.Millisecond // a batch behind the first four
		}
		hung()
		r.idle(t)
		assert.Equal(t, []time.Duration{time.Millisecond}, r.start(t, 1, 1, send)(), "a single caller sends at once again")
	})
}

// Where all is slow and nothing hangs, a late flush has its replies before most of its callers have a slot to send again.
func TestSlowFlushIsHardlySentAgain(t *testing.T) {
	inEachWay(t, func(t *testing.T, send func(r *rig, cmds ...*driver.Command) error) {
		const callers, slow = 20, 60 * time.Millisecond
		r := newRigOfPool(t, 1, func(flush int) time.Duration {
			switch {
			case flush == 1+maxInFlight:
				return slow
			case flush <= 2+maxInFlight:
				return time.Millisecond
			}
			return slow / 2 // sent again
		})
		r.start(t, 1, 1, send)()
		first := r.start(t, maxInFlight, 1, send)
		batch := r.start(t, callers, 1, send)
		first()
		time.Sleep(slow / 2)
		r.start(t, 1, 1, send)() // overtakes the batch, which is late
		for _, took := range batch() {
			assert.LessOrEqual(t, took, 2*slow)
		}
		assert.Equal(t, callers, r.sizes[1+maxInFlight])
		assert.Equal(t, 1, r.flushes()-(3+maxInFlight), "control: one had a slot")
		r.idle(t)
	})
}

type spanKey struct{}

// A shared batch has no deadline, end or values of a caller's ctx, not even of its leader's. A
// leader that is alone keeps its values.
func TestSharedBatchHasNoCallersCtx(t *testing.T) {
	for name, joiners := range map[string]int{"shared": 3, "alone": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, always(time.Millisecond))
				wait := r.start(t, maxInFlight, 1, sendWays["Send"])
				ctx, cancel := context.WithTimeout(context.WithValue(context.Background(), spanKey{}, "span"), time.Hour)
				defer cancel()
				led := make(chan error, 1)
				go func() { led <- r.Do(ctx, new(Outage), r.read("k")) }()
				synctest.Wait()
				others := r.start(t, joiners, 1, sendWays["Send"])
				cancel()
				wait()
				others()
				assert.ErrorIs(t, <-led, context.Canceled)
				synctest.Wait()
				time.Sleep(time.Millisecond)
				require.Equal(t, []int{1, 1, 1, 1, 1 + joiners}, r.sizes)
				sent := r.ctxs[maxInFlight]
				assert.NoError(t, sent.Err())
				_, limited := sent.Deadline()
				assert.False(t, limited)
				if joiners > 0 {
					assert.Nil(t, sent.Value(spanKey{}))
				} else {
					assert.Equal(t, "span", sent.Value(spanKey{}))
				}
			})
		})
	}
}

// Joining a batch starts no goroutine, even with a cancellable ctx. The joiner returns when its ctx
// ends, and the others get their replies.
func TestJoiningStartsNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, always(time.Millisecond))
		first := r.start(t, maxInFlight, 1, sendWays["Send"])
		do := func(ctx context.Context, key string) (c *driver.Command, done chan error) {
			c, done = r.read(key), make(chan error, 1)
			go func() { done <- r.Do(ctx, new(Outage), c) }()
			synctest.Wait()
			return c, done
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()

		before := sending()
		lead, led := do(ctx, "lead")
		require.Equal(t, before+2, sending(), "control: the leader, and the goroutine that sends for it")
		staying, stayed := do(ctx, "stay")
		require.Equal(t, before+3, sending(), "the joiner only")
		ending, leave := context.WithCancel(t.Context())
		_, left := do(ending, "leave")
		require.Equal(t, before+4, sending(), "the joiner only")

		began := time.Now()
		leave()
		err := <-left
		assert.Zero(t, time.Since(began), "without waiting for the flush")
		require.ErrorIs(t, err, context.Canceled)
		var abandoned *redisx.Abandoned
		require.ErrorAs(t, err, &abandoned)
		select {
		case <-abandoned.Finished:
			require.Fail(t, "the batch is not answered yet")
		default:
		}

		first()
		require.NoError(t, <-led)
		require.NoError(t, <-stayed)
		<-abandoned.Finished
		for _, c := range []*driver.Command{lead, staying} {
			reply, err := c.Text()
			require.NoError(t, err)
			assert.Regexp(t, "^4 ", reply)
		}
		assert.Equal(t, []int{1, 1, 1, 1, 3}, r.sizes)
	})
}

// sending counts the goroutines within a Transport.
func sending() (n int) {
	buf := make([]byte, 1<<20)
	for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(stack, "transport.(*Transport).") {
			n++
		}
	}
	return n
}

// A batch may start before its leader has sent the probes of its callers. None of them is left out.
func TestStartedBatchSendsItsProbes(t *testing.T) {
	for range 50 { // select draws
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, always(time.Millisecond))
			b := r.batcher
			var callers []caller
			for _, key := range []string{"a", "b", "c"} {
				cmds := []*driver.Command{r.read(key)}
				callers = append(callers, caller{t.Context(), cmds, driver.NewTicket(cmds)})
			}
			own := &batch{callers: callers, size: 3, start: make(chan struct{}), wake: make(chan struct{}, 1), late: make(chan struct{})}
			b.pending, b.doubts = []*batch{own}, 1
			b.nextLocked()
			b.doubts = 0
			r.lead(own)
			for _, c := range callers {
				<-c.ticket.Done()
			}
			r.idle(t)
		})
	}
}

// Close that gives up leaves each command of Send with a reply or an error, which the caller may read.
func TestSendOutlastsClose(t *testing.T) {
	for name, hung := range map[string]bool{"shared": false, "trial": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, always(time.Minute))
				var all sync.WaitGroup
				if hung {
					r.batcher.bulkhead.since = time.Now()
				}
				ended := make(chan string, 100)
				for i := range 30 {
					all.Go(func() {
						cmds := []*driver.Command{r.read(fmt.Sprint(i)), r.read(fmt.Sprint(i))}
						r.Send(context.Background(), cmds...)
						for _, c := range cmds {
							_, err := c.Text()
							ended <- fmt.Sprint(err)
						}
					})
				}
				synctest.Wait()
				require.Error(t, r.gate.Close())
				all.Wait()
				close(ended)
				for err := range ended {
					if err != "<nil>" {
						assert.Contains(t, err, "store closed")
					}
				}
			})
		})
	}
}
