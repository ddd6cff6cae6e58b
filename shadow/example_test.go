package shadow_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
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
			log.Fatal(err)
		}
	}
	// snippet:verdict
	if err := store.Drain(ctx); err != nil { // all that was recorded is compared
		log.Fatal(err)
	}
	if _, err := store.Verify(ctx); err != nil { // both stores hold the same
		log.Fatal(err)
	}
	verdict := store.Report().Judge(report.Policy{})
	fmt.Println(verdict.State, verdict.State.ExitCode())
	// endsnippet
	if err := store.Close(); err != nil {
		log.Fatal(err)
	}
	// Output: not enough data 2
}

// The reports of a fleet add up.
func ExampleMerge() {
	var reports []*report.Report
	for _, process := range []string{"a", "b"} {
		store := shadow.New(rmwtest.NewMemory(), rmwtest.NewMemory(), shadow.Config{Name: "rooms", Process: process})
		reports = append(reports, store.Report())
		if err := store.Close(); err != nil {
			log.Fatal(err)
		}
	}
	all, err := shadow.Merge(reports...)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(all.Processes), "processes")
	// Output: 2 processes
}
