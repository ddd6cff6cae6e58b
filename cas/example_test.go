package cas_test

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// A counter on plain Redis, and the same call behind a Codis proxy, which refuses
// WATCH: that is what package lockupdate is for.
func Example() {
	increment := func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		n, _ := strconv.Atoi(cur.Text()) // an absent key counts as 0
		return rmw.String(strconv.Itoa(n + 1)), nil
	}
	for _, profile := range []*proxycompat.Profile{proxycompat.Redis(), proxycompat.Codis32()} {
		server, err := proxytest.Start(proxytest.Config{Profile: profile, InMemory: true})
		if err != nil {
			panic(err)
		}
		rdb := redis.NewClient(server.Options())
		store := cas.New(rdb, cas.Config{})

		res, err := store.Update(context.Background(), rmw.Key{Name: "visits"}, increment)
		fmt.Printf("%s: written %v, %q\n", profile.Name(), res.Written, res.After.Text())
		fmt.Println(err)

		_ = store.Close() // before the client
		_ = rdb.Close()
		_ = server.Close()
	}

	// Output:
	// redis: written true, "1"
	// <nil>
	// codis: written false, ""
	// cas: read "visits": unsupported by this server or proxy: ERR handle request, command 'WATCH' is not allowed
}
