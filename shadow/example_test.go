package shadow_test

import (
	"context"
	"expvar"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/rmwtest"
	"github.com/unwatch/unwatch/shadow"
	"github.com/unwatch/unwatch/shadow/report"
)

// A service in staging: it answers as before, and its page shows the verdict.
func Example_service() {
	old := redis.NewClient(&redis.Options{Addr: "redis.old:6379"})
	proxy := redis.NewClient(&redis.Options{Addr: "codis:19000"})

	// snippet:service
	store := shadow.New(
		cas.New(old, cas.Config{}),                 // answers
		lockupdate.New(proxy, lockupdate.Config{}), // is compared
		shadow.Config{Name: "session"})
	defer store.Close() // drops what is not compared within five seconds; goes on serving

	mux := http.NewServeMux()
	mux.Handle("/debug/shadow/", store.Handler())
	// endsnippet
	_ = mux
}

// A calibration: the legacy path in the shadow of itself. Every difference is noise.
func Example_calibration() {
	old := redis.NewClient(&redis.Options{Addr: "redis.old:6379"})
	spare := redis.NewClient(&redis.Options{Addr: "redis.spare:6379"})
	proxy := redis.NewClient(&redis.Options{Addr: "codis:19000"})

	// snippet:calibration
	same := shadow.New(
		cas.New(old, cas.Config{}),
		cas.New(spare, cas.Config{}), // another Redis, like the candidate's
		shadow.Config{Name: "session", AA: true})
	// … as many calls as the real run needs, through same; then:
	noise := same.Report()
	store := shadow.New(
		cas.New(old, cas.Config{}),
		lockupdate.New(proxy, lockupdate.Config{}),
		shadow.Config{Name: "session", Calibration: noise})
	// endsnippet
	fmt.Println(same.Close(), store.Close())
	// Output: <nil> <nil>
}

// The policy of a small service, and its A/A run: both paths are the same, and the verdict
// must be ready.
func Example_smallService() {
	ctx := context.Background()
	// snippet:small
	policy := report.Policy{
		Rate:         0.01, // 299 calls of each operation without a difference
		Keys:         50,   // each operation is compared on that many keys
		Contended:    20,   // forced conflicts alone yield them
		Errors:       0.01,
		LockTimeouts: 0.01,
		Lag:          10 * time.Second, // no caller waits for a comparison
	}
	store := shadow.New(rmwtest.NewMemory(), rmwtest.NewMemory(), shadow.Config{
		Name: "orders", AA: true, Policy: policy,
	})
	defer store.Close()
	// endsnippet
	for i := range 400 {
		key := rmw.Key{Name: fmt.Sprint("order:", i%100), Label: "order"}
		_, err := store.Update(rmw.WithOperation(ctx, "pay"), key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
			return rmw.String(cur.Text() + "x"), nil
		})
		if err != nil {
			fmt.Println(err)
		}
		if i%8 == 7 {
			_ = store.Drain(ctx) // a real service has minutes for its 400 calls
		}
	}
	v := store.Report().Judge(report.Policy{}) // by Config.Policy
	for _, g := range v.Gates {
		if g.State != report.Ready {
			fmt.Println(g.Name, g.State, g.Have, g.Need, g.Why)
		}
	}
	fmt.Println(v.State)
	// Output: ready
}

// The comparison of a service's values, and the fields that the report may show.
func ExampleConfig() {
	legacy, candidate := rmwtest.NewMemory(), rmwtest.NewMemory()
	// snippet:config
	store := shadow.New(legacy, candidate, shadow.Config{
		Name:    "session",
		Percent: 10, // of the keys
		Domains: map[string]shadow.Domain{ // by Key.Label
			"session": {
				Ignore: []string{"updatedAt"},      // does not count
				Sets:   []string{"tags"},           // in any order
				Show:   []string{"state", "epoch"}, // no secret; everything else is a keyed hash
			},
		},
		RedactKey: func(key rmw.Key) string { return key.Label },
	})
	// endsnippet
	fmt.Println(store.Report().Percent, store.Close())
	// Output: 10 <nil>
}

// verdict waits for all comparisons and judges the report.
//
// snippet:verdict
func verdict(ctx context.Context, store *shadow.Store) (report.Verdict, error) {
	if err := store.Drain(ctx); err != nil { // all that was recorded is compared
		return report.Verdict{}, err
	}
	return store.Report().Judge(report.Policy{}), nil // by Config.Policy; .State.ExitCode() is for a program
}

// endsnippet

// The report as an expvar.
func Example_expvar() {
	store := shadow.New(rmwtest.NewMemory(), rmwtest.NewMemory(), shadow.Config{Name: "session"})
	defer store.Close()
	if expvar.Get("shadow") == nil { // go test -count=2 must not publish it twice
		// snippet:expvar
		expvar.Publish("shadow", expvar.Func(func() any { return store.Report() }))
		// endsnippet
	}
	r, err := report.Read(strings.NewReader(expvar.Get("shadow").String()))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Name, r.Mode)
	// Output: session shadow
}

// In a test: run the service's own calls, then check the verdict.
func ExampleStore_Report() {
	ctx := context.Background()
	store := shadow.New(rmwtest.NewMemory(), rmwtest.NewMemory(), shadow.Config{Name: "rooms"})
	key := rmw.Key{Name: "room:1", Label: "room"}
	for range 3 {
		_, err := store.Update(rmw.WithOperation(ctx, "join"), key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
			return rmw.String(cur.Text() + "x"), nil
		})
		if err != nil {
			fmt.Println(err)
		}
	}
	v, err := verdict(ctx, store)
	fmt.Println(v.State, v.State.ExitCode(), err, store.Close())
	// Output: not enough data 2 <nil> <nil>
}

// The reports of a fleet are merged.
func ExampleMerge() {
	var reports []*report.Report
	for _, process := range []string{"a", "b"} {
		store := shadow.New(rmwtest.NewMemory(), rmwtest.NewMemory(), shadow.Config{Name: "rooms", Process: process})
		reports = append(reports, store.Report())
		_ = store.Close() // it has nothing to compare
	}
	all, err := shadow.Merge(reports...)
	fmt.Println(len(all.Processes), "processes", err)
	// Output: 2 processes <nil>
}
