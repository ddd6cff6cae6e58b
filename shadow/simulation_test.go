package shadow_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow"
	"github.com/unwatch/unwatch/shadow/report"
)

// longEnv sets the number of calls; 1000000 take two minutes.
const longEnv = "UNWATCH_LONG"

// simulation is a random load of a fleet on two stores without a fault.
type simulation struct {
	seed              uint64
	legacy, candidate *distant
	fleet             []*shadow.Store
	keys, clients     int
	calls             int // of each client
	ttls              []time.Duration
	done              atomic.Int64
	sums              *sums
}

// sums are totals of all simulations.
type sums struct {
	mu                 sync.Mutex
	compared           [2]int64 // in the order of report.Comparators
	audited, contended int64
}

func (s *sums) add(r *report.Report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, op := range r.Operations {
		s.audited += op.Audited
		s.contended += op.Contended
		for i, c := range report.Comparators() {
			s.compared[i] += op.Tallies[c].Compared
		}
	}
}

func newSimulation(seed uint64, faults ...func(candidate *distant)) *simulation {
	r := rand.New(rand.NewPCG(seed, 1))
	s := &simulation{
		seed: seed, keys: 1 + r.IntN(8), clients: 1 + r.IntN(4), calls: 120,
		legacy:    newDistant(seed, time.Duration(r.IntN(3))*5*time.Millisecond, r.IntN(3)*10),
		candidate: newDistant(seed+1, time.Duration(r.IntN(4))*5*time.Millisecond, r.IntN(3)*10),
		ttls:      []time.Duration{0, 0, 0, time.Minute, time.Hour, rmw.NoTTL, 50 * time.Millisecond, time.Second},
	}
	for _, fault := range faults {
		fault(s.candidate)
	}
	processes := 1 + r.IntN(4)
	for i := range processes {
		cfg := shadow.Config{
			Process: fmt.Sprint("p", i), Reads: 100,
			QueueCalls: []int{8192, 8192, 100, 5}[r.IntN(4)], Workers: 1 + r.IntN(8),
			Rate: []int{0, 0, 0, 200}[r.IntN(4)],
		}
		s.fleet = append(s.fleet, shadow.New(s.legacy, s.candidate, cfg))
	}
	return s
}

// change returns a random operation. It uses few values, so that values recur.
func change(r *rand.Rand, kind rmw.Kind, ttl time.Duration) (string, rmw.UpdateFunc) {
	text, unique := strconv.Itoa(r.IntN(3)), strconv.FormatUint(r.Uint64(), 36)
	set := func(text string) rmw.Value {
		if kind == rmw.KindHash {
			return rmw.Hash(map[string]string{"v": text, "w": "1"})
		}
		return rmw.String(text)
	}
	switch n := r.IntN(12); {
	case n < 2:
		return "toggle", always(set(text))
	case n < 4:
		return "count", func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
			was, _ := cur.Field("v")
			n, _ := strconv.Atoi(was + cur.Text())
			return set(strconv.Itoa((n + 1) % 5)), nil
		}
	case n == 4:
		return "delete", always(rmw.Value{})
	case n == 5:
		return "refuse", func(context.Context, rmw.Value) (rmw.Value, error) { return rmw.Value{}, errClosed }
	case n == 6:
		return "keep", func(_ context.Context, cur rmw.Value) (rmw.Value, error) { return cur, nil }
	case n == 7 && ttl != 0:
		return "touch", func(_ context.Context, cur rmw.Value) (rmw.Value, error) { return cur.WithTTL(ttl), nil }
	case n == 8: // taken and returned
		return "hold", func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
			if was, _ := cur.Field("v"); len(was+cur.Text()) > 5 {
				return set("0"), nil
			}
			return set("held by " + unique), nil
		}
	case n == 9 && ttl != 0:
		return "extend", always(set(text).WithTTL(ttl))
	}
	return "unique", always(set(unique))
}

// client is a goroutine of a process.
func (s *simulation) client(t *testing.T, r *rand.Rand, store *shadow.Store, calls int) {
	for range calls {
		n := r.IntN(s.keys)
		key := rmw.Key{Name: "k" + strconv.Itoa(n), Label: "l" + strconv.Itoa(n%2), TTL: s.ttls[r.IntN(len(s.ttls))]}
		if n%3 == 2 {
			key.Kind = rmw.KindHash
		}
		if r.IntN(6) == 0 {
			_, _ = store.Read(t.Context(), rmw.Key{Name: key.Name, Kind: key.Kind, Label: key.Label})
		} else {
			name, fn := change(r, key.Kind, s.ttls[r.IntN(len(s.ttls))])
			ctx, cancel := context.WithTimeout(rmw.WithOperation(t.Context(), name), time.Second)
			_, err := store.Update(ctx, key, fn)
			cancel()
			if err != nil && !errors.Is(err, errClosed) && !errors.Is(err, rmw.ErrUnavailable) &&
				!errors.Is(err, rmw.ErrOutcomeUnknown) && !errors.Is(err, context.DeadlineExceeded) {
				assert.NoError(t, err)
			}
		}
		s.done.Add(1)
		if r.IntN(3) == 0 {
			time.Sleep(time.Duration(r.IntN(20)) * time.Millisecond)
		}
		if r.IntN(100) == 0 {
			time.Sleep(time.Duration(r.IntN(3000)) * time.Millisecond)
		}
	}
}

// disturb changes the state of the stores and the fleet until all clients have ended.
func (s *simulation) disturb(t *testing.T, r *rand.Rand, ended <-chan struct{}) {
	for {
		select {
		case <-ended:
			s.candidate.become(up)
			for _, p := range s.fleet {
				assert.NoError(t, p.SetPercent(100, "the end"))
			}
			return
		case <-time.After(time.Duration(r.IntN(1000)) * time.Millisecond):
		}
		p := s.fleet[r.IntN(len(s.fleet))]
		switch r.IntN(6) {
		case 0:
			s.candidate.become(refusing)
		case 1:
			s.candidate.become(hanging)
		case 2, 3:
			s.candidate.become(up)
		case 4:
			assert.NoError(t, p.SetPercent(float64(r.IntN(3)*50), "at random"))
		}
		reported(t, p)
	}
}

// traffic runs the clients with disturbances, and waits until all calls are compared.
func (s *simulation) traffic(t *testing.T) {
	ended := make(chan struct{})
	var clients, around sync.WaitGroup
	for i, p := range s.fleet {
		for j := range s.clients {
			r := rand.New(rand.NewPCG(s.seed, uint64(100+10*i+j)))
			clients.Go(func() { s.client(t, r, p, s.calls) })
		}
	}
	r := rand.New(rand.NewPCG(s.seed, 2))
	around.Go(func() { s.disturb(t, r, ended) })
	clients.Wait()
	close(ended)
	around.Wait()
	s.legacy.settled()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	for _, p := range s.fleet {
		require.NoError(t, p.Drain(ctx))
	}
	s.candidate.settled()
	time.Sleep(6 * time.Second) // the breaker closes
}

// run runs a simulation and checks that nothing was found.
func (s *simulation) run(t *testing.T) {
	s.traffic(t)
	for _, p := range s.fleet {
		r := reported(t, p)
		s.sums.add(r)
		assert.Empty(t, named(r), "seed %d, %s: %s", s.seed, r.Processes[0].Name, findingsOf(r))
		assert.Zero(t, r.Health.Queue)
		assert.Zero(t, r.Health.QueueBytes)
		assert.Zero(t, r.Health.Panics)
		require.NoError(t, p.Close())
	}
}

// findingsOf returns the samples of findings, for a failure.
func findingsOf(r *report.Report) (text string) {
	for _, s := range r.Samples {
		if s.Class.Blocks() {
			text += fmt.Sprintf("\n%+v", s)
		}
	}
	return text
}

// Without a fault, no load, disturbance or fleet has a finding. All other claims rest on
// this one.
func TestNoFaultNoFinding(t *testing.T) {
	calls := int64(15_000)
	if n, err := strconv.ParseInt(os.Getenv(longEnv), 10, 64); err == nil {
		calls = n
	}
	var played, next atomic.Int64
	var total sums
	var all sync.WaitGroup
	began := time.Now()
	for range min(2, runtime.GOMAXPROCS(0)) {
		all.Go(func() {
			for played.Load() < calls && !t.Failed() {
				seed := uint64(next.Add(1))
				t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						s := newSimulation(seed)
						s.sums = &total
						s.run(t)
						played.Add(s.done.Load())
					})
				})
			}
		})
	}
	all.Wait()
	t.Logf("%d calls in %d simulations, in %v: compared %v, %d commits audited, %d of them contended",
		played.Load(), next.Load(), time.Since(began).Round(time.Millisecond),
		total.compared, total.audited, total.contended)
	for i, n := range total.compared {
		assert.Greater(t, n, played.Load()/20, "%s has seen too little", report.Comparators()[i])
	}
	assert.Positive(t, total.contended)
}
