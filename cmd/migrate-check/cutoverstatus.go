package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/cutover/operate"
	"github.com/unwatch/unwatch/internal/cutoverstatus"
)

// runStatus shows the status once, or serves it until ctx ends.
func (f *cutoverFlags) runStatus(ctx context.Context, s cutoverStores, stdout, stderr io.Writer) int {
	if f.http != "" {
		if err := f.serve(ctx, s, stdout); err != nil {
			return complain(stderr, "cutover", err.Error())
		}
		return codeOK
	}
	status := f.status(ctx, s, &replication{})
	switch {
	case f.json:
		if err := status.WriteJSON(stdout); err != nil {
			return complain(stderr, "cutover", err.Error())
		}
	default:
		say(stdout, "%s", status.Text())
		if len(status.Gates) > 0 {
			sayGates(stdout, status.Gates)
		}
	}
	if status.Error != "" {
		return fail(stderr, "cutover", codeError, errors.New(status.Error))
	}
	return codeOf(status.State)
}

// status reads everything that it can. A store that fails leaves gaps, and an Error.
func (f *cutoverFlags) status(ctx context.Context, s cutoverStores, old *replication) cutoverstatus.Status {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	facts := cutoverstatus.Facts{Name: f.name, Now: time.Now(), Stores: s.states(ctx, f.name), ReplidChanges: old.look(ctx, s.masters[0])}
	present, err := cutover.Current(ctx, f.name, s.old, s.new)
	if err != nil && present.Epoch == 0 {
		err = errors.Join(err, s.diagnose(ctx))
		return cutoverstatus.Status{
			Name: f.name, At: facts.Now.UTC(), State: operate.GateUnknown, Error: err.Error(),
			Verdict: cutoverstatus.Unreadable(facts.Stores, err),
			Stores:  facts.Stores, ReplidChanges: facts.ReplidChanges,
		}
	}
	facts.Present, facts.Next = present, f.next("status", present)
	facts.Next.Epoch = present.Epoch + 1
	records, recordsErr := f.records("status")
	census, censusErr := operate.Census(ctx, f.name, s.old)
	sweeping, sweepingErr := operate.Census(ctx, sweepers(f.name), s.old)
	facts.Records, facts.Census, facts.Sweepers = records, census, sweeping
	facts.Gates = operate.Ready(present, facts.Next, f.evidence(census, records))
	if censusErr != nil {
		facts.Gates = append(facts.Gates, operate.Gate{
			Name: "heartbeats", Have: "cannot be read", Need: "those of all processes",
			Do: "repair the old store", State: operate.GateUnknown,
		})
	}
	var sampleErr error
	if facts.Sample, facts.Names, sampleErr = f.sample(ctx, s); sampleErr != nil {
		facts.SampleError = sampleErr.Error()
	}
	status := cutoverstatus.New(facts)
	if err = errors.Join(err, recordsErr, censusErr, sweepingErr); err != nil {
		status.Error = errors.Join(err, s.diagnose(ctx)).Error()
	}
	return status
}

// states asks each store for the key of the stage, which a proxy permits.
func (s cutoverStores) states(ctx context.Context, name string) (all []cutoverstatus.Store) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	for i, side := range []string{"old", "new"} {
		one := cutoverstatus.Store{Side: side}
		n, err := s.clients[i].Exists(ctx, "~cutover:{"+name+"}").Result()
		if one.Lost = n == 0 && err == nil; err != nil {
			one.Down = err.Error()
		}
		all = append(all, one)
	}
	return all
}

// replication counts the changes of the replication IDs of servers: a failover or a restart each.
type replication struct {
	ids     map[*redis.Client]string
	changes int
}

func (r *replication) look(ctx context.Context, servers []*redis.Client) int {
	if r.ids == nil {
		r.ids = map[*redis.Client]string{}
	}
	for _, server := range servers {
		info, err := server.Info(ctx, "replication").Result()
		_, id, ok := strings.Cut(info, "\nmaster_replid:")
		if err != nil || !ok {
			continue
		}
		id, _, _ = strings.Cut(id, "\r")
		if r.ids[server] != "" && r.ids[server] != id {
			r.changes++
		}
		r.ids[server] = id
	}
	return r.changes
}

// freezeOnFailover publishes a freeze when the replication ID of the old store changes, until ctx ends. It goes on
// until both stores have the freeze, or another stage is published.
func (f *cutoverFlags) freezeOnFailover(ctx context.Context, s cutoverStores, stdout io.Writer) {
	var old replication
	every := time.NewTicker(time.Second)
	defer every.Stop()
	said := ""
	for answered, half := 0, false; ctx.Err() == nil; {
		if changes := old.look(ctx, s.masters[0]); changes > answered || half {
			frozen, err := f.freeze(ctx, s, changes == answered)
			if err != nil && err.Error() != said {
				said = err.Error()
				fail(stdout, "cutover", codeError, err)
			}
			if half = frozen && err != nil; frozen && changes > answered {
				answered = changes
				say(stdout, "%s", wrapped("New moves are stopped: the replication ID of the old store has changed, "+
					"by a failover or a restart. Run verify, then freeze -off."))
			}
		}
		select {
		case <-every.C:
		case <-ctx.Done():
		}
	}
}

// freeze reports whether new moves are stopped now. The error says which store lacks the freeze, if any. With again,
// it only completes a freeze that is published.
func (f *cutoverFlags) freeze(ctx context.Context, s cutoverStores, again bool) (frozen bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	present, err := cutover.Current(ctx, f.name, s.old, s.new)
	if again && !present.Freeze || err != nil && present.Epoch == 0 {
		return false, err
	}
	present.Freeze = true
	err = operate.Publish(ctx, f.name, s.old, s.new, present)
	now, _ := cutover.Current(ctx, f.name, s.old, s.new)
	return now.Freeze, err
}

// sampleSize is the number of places in the old store at which a status looks, each with a name or two.
const sampleSize = 1024

// sample looks at some keys of the old store, or at all of them if they are few. names is the number
// of all names there.
func (f *cutoverFlags) sample(ctx context.Context, s cutoverStores) (report *operate.Report, names int64, err error) {
	sizes := make([]int64, len(s.masters[0]))
	for i, master := range s.masters[0] {
		if sizes[i], err = master.DBSize(ctx).Result(); err != nil {
			return nil, 0, err
		}
		names += sizes[i]
	}
	var masters []operate.Scanner
	for i, master := range s.masters[0] {
		if names > sampleSize {
			masters = append(masters, randomNames{master, int((sampleSize*sizes[i] + names/2) / names)})
		} else {
			masters = append(masters, master)
		}
	}
	store := f.storeAt(s, cutover.Config{})
	r, err := operate.Verify(ctx, store, operate.VerifyConfig{Masters: masters, Keys: f.choose(), Foreign: f.others(), Batch: 64})
	if err = errors.Join(err, store.Close()); err != nil {
		return nil, names, err
	}
	return &r, names, nil
}

// randomNames is a Scanner that returns one page, of names from random cursors. A sweep
// moves keys in the order of SCAN, so the names of one cursor are all before it or all after it.
type randomNames struct {
	client  interface{ Pipeline() redis.Pipeliner }
	cursors int
}

// Scan implements [operate.Scanner].
func (r randomNames) Scan(ctx context.Context, _ uint64, match string, _ int64) *redis.ScanCmd {
	pipe := r.client.Pipeline()
	cmds := make([]*redis.ScanCmd, r.cursors)
	for i := range cmds {
		cmds[i] = pipe.Scan(ctx, rand.Uint64N(1<<48), match, 1)
	}
	page := redis.NewScanCmd(ctx, nil)
	if _, err := pipe.Exec(ctx); err != nil {
		page.SetErr(err)
		return page
	}
	var names []string
	for _, cmd := range cmds {
		some, _ := cmd.Val()
		names = append(names, some...)
	}
	page.SetVal(names, 0)
	return page
}

// listening tells where the page is, and who can read it.
func listening(at *net.TCPAddr) string {
	const tells = "http://%s/ shows the cut-over until this command is stopped.\n"
	if len(at.IP) > 0 && !at.IP.IsUnspecified() {
		return fmt.Sprintf(tells, at)
	}
	local := fmt.Sprintf("localhost:%d", at.Port)
	return fmt.Sprintf(tells, local) + wrapped(fmt.Sprintf("It listens on all addresses of this machine (%s), without a password: "+
		"all who reach one read names of keys. -http 127.0.0.1:%d listens on this machine only.", at, at.Port))
}

// serve serves the status as a page until ctx ends.
func (f *cutoverFlags) serve(ctx context.Context, s cutoverStores, stdout io.Writer) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.http)
	if err != nil {
		return fmt.Errorf("-http: %w", err)
	}
	var mu sync.Mutex
	var last cutoverstatus.Status
	var old replication
	page := cutoverstatus.Handler(func(*http.Request) cutoverstatus.Status {
		mu.Lock() // several viewers share a look at the stores
		defer mu.Unlock()
		if time.Since(last.At) > 2*time.Second {
			last = f.status(ctx, s, &old)
		}
		return last
	})
	name, _, _ := net.SplitHostPort(f.http) // Listen has accepted it
	server := &http.Server{
		Handler: cutoverstatus.OnlyHost(name, page), ReadTimeout: 10 * time.Second, IdleTimeout: time.Minute,
		WriteTimeout: 10*time.Second + 2*f.timeout, MaxHeaderBytes: 16 << 10, // a viewer waits for the look of another one
	}
	say(stdout, "%s", listening(listener.Addr().(*net.TCPAddr)))
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if f.freezes {
		var freezer sync.WaitGroup
		defer freezer.Wait()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		freezer.Go(func() { f.freezeOnFailover(ctx, s, stdout) })
	}
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("-http: %w", err)
	}
	return nil
}
