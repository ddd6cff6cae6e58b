package worker

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/internal/testing/servers"
)

// A reader counts what it reads, and the lists that refuse it.
func TestReaderCountsSeals(t *testing.T) {
	server := servers.Redis(t)
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr})
	defer rdb.Close()
	for _, tc := range []struct {
		fill   redis.Cmder
		sealed bool
	}{
		{rdb.Set(t.Context(), "open", "1", 0), false},
		{rdb.RPush(t.Context(), "list", "1"), true},
	} {
		if tc.fill.Err() != nil {
			t.Fatal(tc.fill.Err())
		}
		r := &race{job: &UpdateJob{Addr: server.Addr, Keys: [][]string{{tc.fill.Args()[1].(string) + " other"}}}}
		end := r.read(t.Context())
		timer := time.NewTimer(50 * time.Millisecond)
		<-timer.C
		var res UpdateResult
		end(&res)
		if res.Plain == 0 || (res.Sealed == res.Plain) != tc.sealed || (res.Sealed > 0) != tc.sealed {
			t.Errorf("%v: %d reads, %d sealed", tc.fill.Args(), res.Plain, res.Sealed)
		}
	}
}
