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

// A service in staging: it answers as before, and its page says whether it may go over.
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
	go store.VerifyEvery(context.Background(), 5*time.Minute)
	// endsnippet
	_ = mux
}

// A calibration: the legacy path in the shadow of itself, to learn what differs anyway.
func Example_calibration() {
	old := redis.NewClient(&redis.Options{Addr: "redis.old:6379"})
	spare := redis.NewClient(&redis.Options{Addr: "redis.spare:6379"})
	proxy := redis.NewClient(&redis.Options{Addr: "codis:19000"})

	// snippet:calibration
	same := shadow.New(
		cas.New(old, cas.Config{}),
		cas.New(spare, cas.Config{}), // another, empty Redis: the shadow writes to the same keys
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

// What a comparison needs to know of a service's values, and what may be shown of them.
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

// verdict waits until all is compared, and lets the gates decide.
//
// snippet:verdict
func verdict(ctx context.Context, store *shadow.Store) (report.Verdict, error) {
	if err := store.Drain(ctx); err != nil { // all that was recorded is compared
		return report.Verdict{}, err
	}
	if _, err := store.Verify(ctx); err != nil { // both stores hold the same
		return report.Verdict{}, err
	}
	return store.Report().Judge(report.Policy{}), nil // .State.ExitCode() is for a program
}

// endsnippet

// The report among the variables of the process, for whoever collects those.
func Example_expvar() {
	store := shadow.New(rmwtest.NewMemory(), rmwtest.NewMemory(), shadow.Config{Name: "session"})
	defer store.Close()
	if expvar.Get("shadow") == nil { // a name is for once, and go test -count=2 is twice
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

// In a test: run the service's own traffic, then let the verdict decide.
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

// The reports of a fleet add up.
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
