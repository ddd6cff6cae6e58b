package torture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/domains"
	"github.com/unwatch/unwatch/rmw"
)

// Result is the result of one cell.
type Result struct {
	Topology   string
	Nemesis    string
	Bank       bool   // the fleet worked at the bank
	Mitigation string // "": the cell has no mitigation
	Seed       uint64
	Took       time.Duration

	Operations, Acknowledged, NotWritten, Unknown int
	Sections, Transfers, Services                 int  // completed
	Moves                                         int  // of keys between two stores
	Tokens                                        bool // the locks have fencing tokens

	Kept float64 // of the throughput of healthy keys while a server fails

	Stall time.Duration // the longest time without an acknowledgment
	*Verdict

	History   *History
	stored    *stored
	decisions int // that are left
	external  *external
}

// settle is the time after a cell in which the last locks may expire.
const settle = 3 * lease

// prepareLimit limits the wait for the servers before a cell.
const prepareLimit = 10 * time.Second

// Cell runs one nemesis on one environment for a duration.
func Cell(ctx context.Context, s *Environment, n Nemesis, d time.Duration, seed uint64) *Result {
	return cell(ctx, s, n, d, seed, product())
}

func cell(ctx context.Context, s *Environment, n Nemesis, d time.Duration, seed uint64, v variant) *Result {
	if n.load != nil {
		return s.load(ctx, n, d, seed, v)
	}
	unready := s.prepare(ctx)
	children := &children{
		env: s, history: newHistory(), seed: seed, nemesis: n, control: v.control, bank: v.bank,
	}
	r := &Result{Topology: s.Topology, Nemesis: n.Name, Bank: v.bank, Seed: seed, History: children.history}
	r.external = newExternal(v.unfenced)
	if unready != nil {
		r.Verdict = &Verdict{Errors: []string{unready.Error()}}
		return r
	}
	f := &fleet{
		history: r.History, seed: seed, clientFaults: n.clientFaults, external: r.external, generation: counted(generation),
	}
	count := processes
	if s.Watch && (!v.bank || s.cluster == nil && watchTransacts()) {
		count += 2 // on the legacy path
	}
	if s.sides != nil {
		if n.children { // which take a while to start
			d = max(d, 2*flipEvery)
		}
		f.generation = counted(generationAcross)
	}
	errs := []error{s.play(ctx, n, d, seed, children, []*Result{r}, func(working context.Context) error {
		if n.children {
			return children.run(working)
		}
		return f.run(working, 0, count, func(process int) (opened, error) {
			clients, err := s.clients(process)
			if err != nil {
				return opened{}, err
			}
			return v.at(clients, process, seed), nil
		})
	})}
	errs = append(errs, r.settle(ctx, s, n.forgets || s.forgets))
	r.count()
	if v.bank && n.harmless() && v.control == "" {
		r.Forgot = r.decisions
	}
	if r.Verdict != nil && n.half && s.sides == nil {
		r.Few = max(0, r.Operations/2-r.Acknowledged)
	}
	for _, err := range errs {
		if err != nil && ctx.Err() == nil {
			r.Errors = append(r.Errors, err.Error())
		}
	}
	return r
}

// play works for a duration, while a nemesis injects faults.
func (s *Environment) play(ctx context.Context, n Nemesis, d time.Duration, seed uint64, children *children, results []*Result,
	work func(ctx context.Context) error,
) error {
	working, stop := during(ctx, d)
	defer stop()
	struck := make(chan error, 1)
	noted := 0
	go func() {
		c := &injection{Environment: s, rng: rand.New(rand.NewPCG(seed, seed)), children: children}
		c.note = func(format string, args ...any) {
			noted++
			for _, r := range results {
				r.History.note(fmt.Sprintf(format, args...))
			}
		}
		struck <- n.run(working, c)
	}()
	err := errors.Join(work(working), <-struck)
	if noted < n.faults {
		err = errors.Join(err, fmt.Errorf("nemesis %s made %d faults, and a cell needs %d to prove anything", n.Name, noted, n.faults))
	}
	for _, r := range results {
		r.Took = r.History.now()
	}
	return err
}

// settle waits until the servers respond and the last lock has expired, then checks the history.
func (r *Result) settle(ctx context.Context, s *Environment, forgets bool) error {
	r.Verdict = &Verdict{Forgiven: forgets}
	calm, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	if err := s.awaitCalm(calm); err != nil {
		return err
	}
	if err := pause(calm, settle); err != nil {
		return err
	}
	reading, stop := context.WithTimeout(ctx, 10*time.Minute) // a cell of minutes has tens of thousands of keys
	defer stop()
	var sealed int
	if r.Bank {
		var err error
		if sealed, r.decisions, err = s.unseal(reading); err != nil {
			return fmt.Errorf("open what is sealed: %w", err)
		}
	}
	all, err := s.stored(reading)
	if err != nil {
		return fmt.Errorf("read the final state: %w", err)
	}
	r.external.into(all)
	r.stored = all
	r.Verdict = check(r.History, all)
	r.Forgiven, r.Sealed = forgets, sealed
	if s.sides != nil {
		r.moves(all)
	}
	err = s.deskLoad(reading, func(o deskLoad, ctx context.Context) (err error) {
		r.Desk, err = o.audit(ctx, r.History.decisions)
		return err
	})
	r.Leaked = leaked(s.Topology)
	if forgets && domains.RefusalOf(err) != nil {
		r.Desk, err = append(r.Desk, err.Error()), nil
	}
	return err
}

func (r *Result) count() {
	var acknowledged []time.Duration
	for _, op := range r.History.ops {
		r.Operations++
		switch op.Outcome {
		case Acknowledged:
			r.Acknowledged++
			acknowledged = append(acknowledged, op.Return)
		case NotWritten:
			r.NotWritten++
		case Unknown:
			r.Unknown++
		}
	}
	for _, j := range r.History.joints {
		r.Operations++
		switch j.Outcome {
		case Acknowledged:
			r.Acknowledged++
			acknowledged = append(acknowledged, time.Duration(j.Return))
		case NotWritten:
			r.NotWritten++
		case Unknown:
			r.Unknown++
		}
	}
	for _, s := range r.History.sections {
		r.Tokens = r.Tokens || s.Token != 0
		switch {
		case s.Done && s.ID != "":
			r.Transfers++
		case s.Done:
			r.Sections++
		}
	}
	r.Services = r.History.services
	slices.Sort(acknowledged)
	last := time.Duration(0)
	for _, at := range append(acknowledged, r.Took) {
		r.Stall, last = max(r.Stall, at-last), at
	}
}

// marked marks the goroutine of fn and all goroutines that it starts as of this topology.
func marked(topology string, fn func() error) func() error {
	return func() (err error) {
		pprof.Do(context.Background(), pprof.Labels("topology", topology), func(context.Context) { err = fn() })
		return err
	}
}

const mark = `"topology":`

// stacks returns the stacks of all goroutines. A stack begins with the number of goroutines that have it.
func stacks() []string {
	var text bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&text, 1) // a buffer takes everything
	return strings.Split(text.String(), "\n\n")
}

// goroutines counts those that are marked as of a topology.
func goroutines(topology string) (all int) {
	for _, stack := range stacks() {
		if strings.Contains(stack, fmt.Sprintf("%s%q", mark, topology)) {
			count, _, _ := strings.Cut(stack, " @ ")
			n, _ := strconv.Atoi(count[strings.LastIndex(count, "\n")+1:]) // a line with the total may be before it
			all += n
		}
	}
	return all
}

// leaked returns the goroutines of closed stores and Lockers, but for those that are marked as of another topology.
func leaked(topology string) string {
	var found []string
	for _, stack := range stacks() {
		if strings.Contains(stack, mark) && !strings.Contains(stack, fmt.Sprintf("%s%q", mark, topology)) {
			continue
		}
		for _, of := range []string{"unwatch/lockupdate", "unwatch/cas.", "unwatch/cutover.", "unwatch/lock/driver", "unwatch/adapters/"} {
			if strings.Contains(stack, of) {
				found = append(found, stack)
				break
			}
		}
	}
	return strings.Join(found, "\n\n")
}

// deskLoad calls fn with the desk on a new store.
func (s *Environment) deskLoad(ctx context.Context, fn func(o deskLoad, ctx context.Context) error) error {
	return s.connected(func(store rmw.Store) error { return fn(newDeskLoad(store), ctx) })
}

// prepare empties the servers and creates the desk's agents and sessions. It retries, since a failover may
// be in progress. Old data would make the checks fail.
func (s *Environment) prepare(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, prepareLimit)
	defer cancel()
	for {
		err := s.clean(limited)
		if err == nil {
			err = s.deskLoad(limited, deskLoad.populate)
		}
		if err == nil {
			return nil
		}
		if pause(limited, 100*time.Millisecond) != nil {
			return fmt.Errorf("prepare the servers for a cell: %w", err)
		}
	}
}

// clean empties the servers. Replicas behind a proxy receive only the commands that pass the proxy.
func (s *Environment) clean(ctx context.Context) error {
	if s.codis != nil {
		if err := s.throughProxy(ctx); err != nil {
			return err
		}
	}
	return s.direct(ctx, func(ctx context.Context, rdb *redis.Client) error {
		return rdb.FlushAll(ctx).Err()
	})
}

// throughProxy deletes all keys through the proxy.
func (s *Environment) throughProxy(ctx context.Context) (err error) {
	proxy := redis.NewClient(s.codis.CalmOptions())
	defer func() { err = errors.Join(err, proxy.Close()) }()
	return s.direct(ctx, func(ctx context.Context, rdb *redis.Client) error {
		names, err := rdb.Keys(ctx, "*").Result()
		if err != nil || len(names) == 0 {
			return err
		}
		return proxy.Del(ctx, names...).Err()
	})
}
