package shadow_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
	"github.com/unwatch/unwatch/shadow"
	"github.com/unwatch/unwatch/shadow/internal/notcompared"
	"github.com/unwatch/unwatch/shadow/report"
)

// passed counts the calls that one comparator did not compare, by reason.
func passed(r *report.Report, c report.Comparator) map[report.Reason]int64 {
	all := map[report.Reason]int64{}
	for _, op := range r.Operations {
		for why, n := range op.Tallies[c].NotCompared {
			all[why] += n
		}
	}
	return all
}

// compared counts the calls that one comparator compared.
func compared(r *report.Report, c report.Comparator) (n int64) {
	for _, op := range r.Operations {
		n += op.Tallies[c].Compared
	}
	return n
}

// unreachable is a path out of reach.
func unreachable(state outage) *distant {
	d := newDistant(1, 0, 0)
	d.become(state)
	return d
}

// A hung hidden path delays no caller. The bounded queue drops calls, which are counted.
func TestHungPathDelaysNoCaller(t *testing.T) {
	for why, of := range map[report.Reason]struct {
		cfg    shadow.Config
		queued int64
	}{
		notcompared.DroppedQueue: {shadow.Config{QueueCalls: 50, Workers: 2}, 50},
		notcompared.DroppedBytes: {shadow.Config{QueueBytes: 100_000}, 9},
	} {
		run(t, string(why), func(t *testing.T) {
			hidden := unreachable(hanging)
			s := open(t, rmwtest.NewMemory(), hidden, of.cfg)
			began := time.Now()
			for i := range 100 {
				set(t, s, counter(i), rmw.String(strings.Repeat("x", 10_000)))
			}
			assert.Zero(t, time.Since(began), "no call waits")
			r := reported(t, s)
			assert.EqualValues(t, 100-of.queued, passed(r, report.Seeded)[why])
			assert.Equal(t, of.queued, r.Health.Queue)
			assert.Equal(t, of.queued, r.Health.QueueMost)
			assert.Less(t, r.Health.QueueBytes, of.queued*11_000)
			hidden.become(up)
			assert.Empty(t, named(drained(t, s)), "an outage is no finding")
		})
	}
}

func TestCloseIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hidden := unreachable(hanging)
		s := shadow.New(rmwtest.NewMemory(), hidden, shadow.Config{Timeout: time.Hour})
		calls(t, s, 100, 100)
		began := time.Now()
		require.ErrorContains(t, s.Close(), "before all calls were compared")
		assert.Equal(t, 5*time.Second, time.Since(began))
		r := reported(t, s)
		assert.Zero(t, r.Health.Queue)
		assert.Zero(t, r.Health.QueueBytes)
		assert.Equal(t, "off", r.Mode)
		require.ErrorIs(t, s.SetPercent(100, "go on"), rmw.ErrClosed, "its calls would count as dropped")
		_, err := s.Update(t.Context(), counter(1), add)
		require.NoError(t, err, "it goes on serving")
		require.NoError(t, s.Close(), "twice does no harm")
	})
}

func TestKill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hidden := unreachable(hanging)
		s := shadow.New(rmwtest.NewMemory(), hidden, shadow.Config{})
		calls(t, s, 100, 100)
		s.Kill("too much load")
		synctest.Wait() // no goroutine is left that waits
		sent := hidden.calls.Load()
		calls(t, s, 100, 100)
		synctest.Wait()
		assert.Equal(t, sent, hidden.calls.Load())
		r := reported(t, s)
		assert.Zero(t, r.Health.Queue)
		assert.Equal(t, "killed", r.Processes[0].Reason)
		assert.Empty(t, r.Health.Candidate.Errors, "Kill cancelled the calls")
		assert.Equal(t, "closed", r.Health.Breaker)
		assert.Equal(t, "too much load", r.Marks[len(r.Marks)-1].Why)
		require.ErrorIs(t, s.SetPercent(100, ""), rmw.ErrClosed)
		require.ErrorIs(t, s.Drain(t.Context()), nil)
	})
}

func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hidden := unreachable(refusing)
		s := open(t, rmwtest.NewMemory(), hidden, shadow.Config{})
		load := func() *report.Report {
			for i := range 200 {
				increment(t, s, i)
				time.Sleep(time.Millisecond)
			}
			return drained(t, s)
		}
		r := load()
		assert.Equal(t, "open", r.Health.Breaker)
		assert.Positive(t, r.Health.BreakerTrips)
		assert.Positive(t, passed(r, report.Seeded)[notcompared.DroppedBreaker])
		assert.Positive(t, passed(r, report.Seeded)[notcompared.ShadowUnavailable])
		assert.Less(t, hidden.calls.Load(), int64(100), "a dead store is left alone")
		hidden.become(up)
		time.Sleep(6 * time.Second)
		load()
		time.Sleep(6 * time.Second)
		r = load()
		assert.Equal(t, "closed", r.Health.Breaker)
		assert.Empty(t, named(r))
	})
}

func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, rmwtest.NewMemory(), rmwtest.NewMemory(), shadow.Config{Rate: 10})
		for i := range 1000 { // in ten seconds
			increment(t, s, i%3)
			time.Sleep(10 * time.Millisecond)
		}
		r := drained(t, s)
		assert.InDelta(t, 110, compared(r, report.Free), 2)
		assert.Empty(t, named(r), "calls that were left out break no chain")
	})
}

// fn runs only as often as the serving path calls it: it writes variables of its caller.
func TestFnRunsOnServingPathOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, rmwtest.NewMemory(), rmwtest.NewMemory(), shadow.Config{})
		runs := 0 // the race detector would see another goroutine
		for range 100 {
			update(t, s, counter(1), func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
				runs++
				return add(ctx, cur)
			})
		}
		assert.EqualValues(t, 100, compared(drained(t, s), report.Seeded))
		assert.Equal(t, 100, runs)
	})
}

// broken is a store that panics.
type broken struct{ rmw.Store }

func (broken) Update(context.Context, rmw.Key, rmw.UpdateFunc) (rmw.Result, error) { panic("oops") }

// The log has the stack of the first panic, of the user's Project or of the candidate, and not its text.
func TestFirstPanicIsLogged(t *testing.T) {
	before := slog.Default()
	defer slog.SetDefault(before)
	project := func(rmw.Value) (rmw.Value, error) { panic("oops") }
	for where, start := range map[string]func(t *testing.T) *shadow.Store{
		"TestFirstPanicIsLogged": func(t *testing.T) *shadow.Store {
			cfg := shadow.Config{Domains: map[string]shadow.Domain{"n": {Project: project}}}
			return open(t, rmwtest.NewMemory(), rmwtest.NewMemory(), cfg)
		},
		"broken.Update": func(t *testing.T) *shadow.Store {
			return open(t, rmwtest.NewMemory(), broken{rmwtest.NewMemory()}, shadow.Config{})
		},
	} {
		run(t, where, func(t *testing.T) {
			var log bytes.Buffer
			slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
			s := start(t)
			calls(t, s, 10, 10)
			assert.Greater(t, drained(t, s).Health.Panics, int64(1))
			assert.Equal(t, 1, strings.Count(log.String(), "a panic was caught"))
			assert.Contains(t, log.String(), where)
			assert.NotContains(t, log.String(), "oops")
		})
	}
}

// A panic of the user's Project is counted, and leaves no call in flight: the queue would fill up for good.
func TestPanicsOfProject(t *testing.T) {
	for name, panics := range map[string]func(v rmw.Value) bool{
		"on any value":                   func(rmw.Value) bool { return true },
		"on the hidden path's own value": func(v rmw.Value) bool { return v.Text() == "broken" },
	} {
		run(t, name, func(t *testing.T) {
			project := func(v rmw.Value) (rmw.Value, error) {
				if panics(v) {
					panic("oops")
				}
				return v, nil
			}
			hidden := storing(func(rmw.Value) rmw.Value { return rmw.String("broken") })
			s := open(t, rmwtest.NewMemory(), hidden, shadow.Config{Domains: map[string]shadow.Domain{"n": {Project: project}}})
			calls(t, s, 10, 10)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			require.NoError(t, s.Drain(ctx))
			r := reported(t, s)
			assert.Positive(t, r.Health.Panics)
			assert.Positive(t, passed(r, report.Seeded)[notcompared.ShadowPanic])
			assert.Zero(t, r.Health.QueueBytes)
			assert.Equal(t, report.NotReady, r.Judge(report.Policy{}).State)
		})
	}
}

// A Store with an invalid Config serves, compares nothing, and reports the error.
func TestInvalidConfigServes(t *testing.T) {
	for _, cfg := range []shadow.Config{
		{Percent: 101}, {Workers: -1}, {Reads: 200}, {Process: "a b"}, {Timeout: -1}, {Percent: -1},
		{Skip: []report.Comparator{"seed"}},
		{Domains: map[string]shadow.Domain{"n": {Ignore: []string{"a..b"}}}},
		{Policy: report.Policy{Rate: -1}},
		{Calibration: &report.Report{}},
	} {
		require.ErrorIs(t, cfg.Validate(), rmw.ErrInvalid)
		s := open(t, rmwtest.NewMemory(), nil, cfg)
		increment(t, s, 1)
		r := s.Report()
		assert.Equal(t, "off", r.Mode)
		assert.Equal(t, "shadow", r.Processes[0].Asked)
		assert.Contains(t, r.Processes[0].Reason, "shadow.Config")
		require.ErrorIs(t, s.SetPercent(100, ""), rmw.ErrInvalid)
	}
}

// A failed call of the serving path is not compared.
func TestServingPathFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		serving := rmwtest.NewMemory()
		s := open(t, serving, rmwtest.NewMemory(), shadow.Config{})
		update := func() error {
			_, err := s.Update(t.Context(), counter(1), add)
			return err
		}
		stop := serving.Arm(1, rmwtest.Fault{Kind: rmwtest.RequestLost})
		require.ErrorIs(t, update(), rmw.ErrUnavailable)
		stop()
		require.NoError(t, update())
		require.NoError(t, s.Drain(t.Context()))
		stop = serving.Arm(2, rmwtest.Fault{Kind: rmwtest.ReplyLost}) // it is stored
		require.ErrorIs(t, update(), rmw.ErrOutcomeUnknown)
		stop()
		require.NoError(t, update())
		r := drained(t, s)
		assert.Equal(t, map[report.Reason]int64{notcompared.PrimaryFailed: 1, notcompared.PrimaryIndeterminate: 1},
			passed(r, report.Seeded))
		assert.EqualValues(t, 1, r.Health.Legacy.Errors["unavailable"])
		assert.Empty(t, named(r))
	})
}

// Drops of the busiest minute count against the verdict until a minute as busy was compared,
// or until the share of the keys changes.
func TestDropsOfTheBusiestMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, rmwtest.NewMemory(), rmwtest.NewMemory(), shadow.Config{QueueCalls: 5})
		burst := func(n, atOnce int) {
			for range n / atOnce {
				calls(t, s, atOnce, atOnce)
				require.NoError(t, s.Drain(t.Context()))
			}
			time.Sleep(time.Minute)
		}
		burst(20, 5)
		burst(40, 20)
		r := s.Report()
		assert.Positive(t, r.Peak.Busiest.Dropped)
		assert.EqualValues(t, 2*20, r.Peak.Clear.Compared)
		assert.Equal(t, r.Peak.Busiest.Compared+r.Peak.Busiest.Dropped, int64(2*40))
		burst(45, 5)
		assert.EqualValues(t, 2*45, s.Report().Peak.Clear.Compared)
		require.NoError(t, s.SetPercent(99.99, "another share"))
		time.Sleep(time.Minute)
		assert.Zero(t, s.Report().Peak)
		burst(5, 5)
		assert.EqualValues(t, 2*5, s.Report().Peak.Busiest.Compared)
	})
}

// A hidden path that ignores its ctx blocks its workers, but no caller.
func TestPathIgnoresItsCtx(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		hidden := before(func(context.Context, rmw.Key) error { <-end; return nil })
		s := shadow.New(rmwtest.NewMemory(), hidden, shadow.Config{QueueCalls: 50, Workers: 2})
		began := time.Now()
		calls(t, s, 200, 2)
		synctest.Wait()
		assert.Zero(t, time.Since(began), "no caller waits")
		time.Sleep(time.Hour)
		r := reported(t, s)
		assert.EqualValues(t, 50, r.Health.Queue)
		assert.NotEqual(t, report.Ready, r.Judge(report.Policy{}).State)
		require.ErrorContains(t, s.Close(), "does not end although its ctx has")
		close(end)
		synctest.Wait()
		reported(t, s)
	})
}

// Negative control of TestNoFaultNoFinding: with the same disturbances, a store that loses
// acknowledged writes is found.
func TestDisturbancesHideNoFault(t *testing.T) {
	found := map[string]int64{}
	for seed := range uint64(6) {
		synctest.Test(t, func(t *testing.T) {
			s := newSimulation(seed+1, func(d *distant) { d.forget = 30 })
			s.traffic(t)
			for _, p := range s.fleet {
				for what, n := range named(p.Report()) {
					found[what] += n
				}
				p.Kill("the test is over")
			}
		})
	}
	assert.Contains(t, found, "seeded lost_write ")
	assert.Contains(t, found, "free lost_update ")
}
