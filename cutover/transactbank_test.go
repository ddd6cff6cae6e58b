package cutover_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/cutover/operate"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// bank is transfers of several processes while the keys move from the old store to the new one. It returns all that is wrong:
// a sum that a read of all accounts has found, the sum at the end, and each key without a single home.
func bank(t *testing.T, open func(r *rig, stage cutover.Source) rmw.Store, permille int, seed uint64) (wrong []string) {
	const accounts, processes, each = 6, 3, 10
	bubble(t, func(t *testing.T, r *rig) {
		if permille > 0 {
			r.strike(seed, 7, permille, proxytest.DropReply, proxytest.DropRequest, proxytest.ExecuteLater)
		}
		keys := make([]rmw.Key, accounts)
		setup := r.direct()
		for i := range keys {
			keys[i] = rmw.Key{Name: fmt.Sprint("account", i)}
			setup.put(keys[i], rmw.String("100"))
		}
		var mu sync.Mutex
		report := func(format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
		began := time.Now()
		stage := func(late time.Duration) cutover.Source { // a process sees each stage a little later than others
			return staged(func() cutover.Stage {
				switch at := time.Since(began) - late; {
				case at < 30*time.Millisecond:
					return follow
				case at < 200*time.Millisecond:
					return cutover.Stage{Phase: cutover.Copying, Percent: 40}
				case at < 260*time.Millisecond:
					return reverse
				}
				return forward
			})
		}
		amount := func(v rmw.Value) int { n, _ := strconv.Atoi(v.Text()); return n }
		var wg sync.WaitGroup
		for n := range processes {
			s := open(r, stage(time.Duration(n)*7*time.Millisecond))
			for w := range 2 {
				wg.Go(func() {
					for i := range each {
						from, to := keys[(n+2*i+w)%accounts], keys[(3*n+i*i+1)%accounts]
						if from == to {
							continue
						}
						ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
						_, err := rmw.Transact(ctx, s, func(_ context.Context, tx *rmw.Tx) error {
							a, b := amount(tx.Get(from)), amount(tx.Get(to))
							tx.Put(from, rmw.String(strconv.Itoa(a-1)))
							tx.Put(to, rmw.String(strconv.Itoa(b+1)))
							return nil
						}, from, to)
						if err != nil && permille == 0 {
							report("transfer: %v", err)
						}
						if values, err := rmw.ReadAll(ctx, s, keys...); err == nil {
							sum := 0
							for _, v := range values {
								sum += amount(v)
							}
							if sum != accounts*100 {
								report("the sum is %d", sum)
							}
						} else if permille == 0 {
							report("read: %v", err)
						}
						cancel()
						sleep(20 * time.Millisecond)
					}
				})
			}
			if p, ok := s.(process); ok {
				wg.Go(func() {
					for time.Since(began) < 600*time.Millisecond {
						_, _ = operate.Sweep(t.Context(), p.Store, r.old(4))
						sleep(20 * time.Millisecond)
					}
				})
			}
		}
		wg.Wait()
		sleep(time.Minute) // late commands
		r.swept(forward)
		pass := r.swept(forward)
		if pass.There != accounts {
			report("%d of %d accounts are in the new store: %+v", pass.There, accounts, pass)
		}
		end, sum := r.direct(), 0
		if found := end.verify(r.both(4)); found.Wrong() > 0 { // it ends updates of late commands
			report("%+v", found)
		}
		for _, key := range keys {
			if where := r.where(key.Name); where != [2]string{"list", "string"} {
				report("%s is %v", key.Name, where)
			}
			v, err := end.Read(t.Context(), key)
			if err != nil {
				report("%v", err)
			}
			sum += amount(v)
		}
		if sum != accounts*100 {
			report("the sum at the end is %d", sum)
		}
	})
	return wrong
}

// staged is a Source.
type staged func() cutover.Stage

func (s staged) Stage(context.Context) (cutover.Stage, error) { return s(), nil }

func TestLongBankDuringACutover(t *testing.T) {
	open := func(r *rig, stage cutover.Source) rmw.Store { return r.open(stage, network{lease: time.Second}) }
	for seed := range uint64(4) {
		for _, permille := range []int{0, 5} {
			t.Run(fmt.Sprint(permille, seed), func(t *testing.T) {
				t.Parallel()
				require.Empty(t, bank(t, open, permille, seed))
			})
		}
	}
}

// apart is a negative control of a cutover.Store: it updates each key at its own home, without one home for all.
type apart struct{ process }

func (s apart) Transact(ctx context.Context, keys []rmw.Key, fn rmw.TxFunc) (rmw.TxResult, error) {
	values := make([]rmw.Value, len(keys))
	for i, key := range keys {
		var err error
		if values[i], err = s.Read(ctx, key); err != nil {
			return rmw.TxResult{}, err
		}
	}
	run := rmw.NewTxRun(s.Store, keys, values, s.Read)
	if aborted, err := run.Do(ctx, fn, func() error { return nil }); aborted != nil || err != nil {
		return rmw.TxResult{}, errors.Join(aborted, err)
	}
	for _, c := range run.Changes() {
		if c.Written {
			if _, err := s.Update(ctx, c.Key, set(c.After)); err != nil {
				return rmw.TxResult{}, err
			}
		}
	}
	return rmw.TxResult{Changes: run.Changes()}, nil
}

func TestLongBankWithoutOneHome(t *testing.T) {
	wrong := bank(t, func(r *rig, stage cutover.Source) rmw.Store { return apart{r.open(stage)} }, 0, 1)
	require.NotEmpty(t, wrong)
	t.Log(wrong[0])
}
