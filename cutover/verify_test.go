package cutover_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/cutover/operate"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

// plant makes one key wrong.
type plant struct {
	stage    cutover.Stage // of a sweep before it
	commands string        // to the "old" and the "new" server
	do       func(t *testing.T, r *rig, old, new *redis.Client)
	want     func(r *operate.Report) // the change of a Report of 20 sound keys
}

const planted = "k7"

func named(k *operate.Keys) { *k = operate.Keys{Count: 1, Names: []string{planted}} }

// Each kind of error is planted in one key among 20, and it is found there and nowhere else.
func TestVerifyFindsPlants(t *testing.T) {
	type finds = func(*operate.Report)
	open := func(of func(*operate.Report) *operate.Keys) finds {
		return func(r *operate.Report) { r.Open = 19; named(of(r)) }
	}
	equal := func(of func(*operate.Report) *operate.Keys) finds {
		return func(r *operate.Report) { r.Equal = 19; named(of(r)) }
	}
	changed := func(r *operate.Report) { r.Equal, r.ChangedSince = 19, 1 }
	tooLarge := func(r *operate.Report) *operate.Keys { return &r.TooLarge }
	otherType := func(r *operate.Report) *operate.Keys { return &r.OtherType }
	twoHomes := func(r *operate.Report) *operate.Keys { return &r.TwoHomes }
	expiring := func(r *operate.Report) *operate.Keys { return &r.Expiring }
	forgotten := func(r *operate.Report) *operate.Keys { return &r.Forgotten }
	for name, p := range map[string]plant{
		"nothing, before": {follow, "", nil, func(r *operate.Report) { r.Open = 20 }},
		"nothing, after":  {forward, "", nil, func(r *operate.Report) { r.Equal = 20 }},
		"too large":       {follow, "old SETRANGE k7 1048576 x", nil, open(tooLarge)},
		"a hash that is too large": {follow, "old DEL k7", func(t *testing.T, _ *rig, old, _ *redis.Client) {
			for i := range 300 {
				require.NoError(t, old.HSet(t.Context(), planted, fmt.Sprint(i), strings.Repeat("x", 4000)).Err())
			}
		}, open(tooLarge)},
		"a list":                                {follow, "old DEL k7; old RPUSH k7 a b", nil, open(otherType)},
		"a value of its own in the new store":   {follow, "new SET k7 foreign EX 3600", nil, open(twoHomes)},
		"a blind SET over the marker":           {forward, "old SET k7 blind EX 3600", nil, equal(twoHomes)},
		"EXPIRE of the marker":                  {forward, "old EXPIRE k7 3600", nil, equal(expiring)},
		"EXPIRE of the marker in the new store": {reverse, "new EXPIRE k7 3600", nil, open(expiring)},
		"DEL of the marker": {forward, "old DEL k7", nil,
			func(r *operate.Report) { r.Names, r.Chosen, r.Equal = 19, 19, 19; named(&r.Unmarked) }},
		"DEL of the value after a way back": {reverse, "old DEL k7", nil,
			func(r *operate.Report) { r.Names, r.Chosen, r.Open = 19, 19, 19; named(&r.Leftover) }},
		"a fill that the new store has forgotten": {forward, "new DEL k7", func(t *testing.T, _ *rig, old, new *redis.Client) {
			head := old.LRange(t.Context(), planted, 0, 3).Val() // magic, state, nonce, nonce of the reservation
			require.NoError(t, new.RPush(t.Context(), planted, head[0], "away", head[3], "", "none", "-1", "0").Err())
		}, equal(forgotten)},
		"a mark that the old store has forgotten, and the key was sent back": {reverse, "old DEL k7",
			func(t *testing.T, _ *rig, old, new *redis.Client) {
				head := new.LRange(t.Context(), planted, 0, 3).Val() // magic, state, nonce, nonce of the old store's marker
				require.NoError(t, old.RPush(t.Context(), planted, head[0], "away", head[3], "0.1", "string", "-1", "0", "v").Err())
			}, open(forgotten)},
		"markers of two moves": {forward, "new DEL k7", func(t *testing.T, _ *rig, old, new *redis.Client) {
			magic := old.LIndex(t.Context(), planted, 0).Val()
			require.NoError(t, new.RPush(t.Context(), planted, magic, "away", "2.1", "1.2", "none", "-1", "0").Err())
		}, equal(forgotten)},
		"an update since":           {forward, "new SETRANGE k7 0 VALUE", nil, changed},
		"another expiry since":      {forward, "new EXPIRE k7 7200", nil, changed},
		"no expiry since":           {forward, "new PERSIST k7", nil, changed},
		"an update of a hash since": {forward, "new HSET k5 f K5", nil, changed},
		"another field since":       {forward, "new HDEL k5 g; new HSET k5 G -", nil, changed},
		"another type since":        {forward, "new DEL k7; new SADD k7 a", nil, changed},
		"a deletion since":          {forward, "new DEL k7", nil, func(r *operate.Report) { changed(r); named(&r.Missing) }},
		"keys that moved as absent, or have expired since": {forward, "", func(t *testing.T, r *rig, old, new *redis.Client) {
			r.open(forward).add("x")
			require.NoError(t, new.Del(t.Context(), room.Name).Err())
			require.NoError(t, old.HSet(t.Context(), "h", "f", "v").Err())
			require.NoError(t, old.Expire(t.Context(), "h", time.Second).Err())
			r.swept(forward)
			sleep(2 * time.Second)
		}, func(r *operate.Report) { r.Names, r.Chosen, r.Equal = 22, 22, 22 }},
		"a store that does not answer for one key": {forward, "", func(_ *testing.T, r *rig, _, _ *redis.Client) {
			r.proxies[1].Inject(proxytest.Fault{Match: func(args []string) bool { return len(args) > 4 && args[3] == planted },
				Times: -1, Action: proxytest.RefuseWith, Text: "ERR no"})
		}, equal(func(r *operate.Report) *operate.Keys { return &r.Failed })},
	} {
		runShort(t, name, name == "nothing, after", func(t *testing.T, r *rig) {
			r.fill(20)
			if p.stage.Phase == cutover.Reverse {
				r.swept(forward)
			}
			r.swept(p.stage)
			sleep(time.Minute)
			old, new := r.admin(0), r.admin(1)
			for command := range strings.SplitSeq(p.commands, "; ") {
				if server, command, ok := strings.Cut(command, " "); ok {
					require.NoError(t, do(t, map[string]*redis.Client{"old": old, "new": new}[server], command))
				}
			}
			if p.do != nil {
				p.do(t, r, old, new)
			}
			want := operate.Report{Scanned: operate.Scanned{
				Names: 20, Chosen: 20, Masters: 1, AllMasters: 1, NewMasters: 2, AllNewMasters: 2,
			}}
			p.want(&want)
			got := r.verify(6)
			assert.Equal(t, want.Failed.Count > 0, got.Cause != nil)
			want.Cause = got.Cause
			assert.Equal(t, want, got)
			wrong := want.TwoHomes.Count + want.Unmarked.Count + want.Expiring.Count + want.Forgotten.Count + want.Failed.Count
			assert.Equal(t, wrong, got.Wrong())
		})
	}
}

// Verify beside updates and sweeps in both directions finds nothing wrong, and writes nothing.
func TestVerifyBesideMoves(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.fill(12)
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for _, stage := range []cutover.Stage{forward, reverse} {
			p, cfg := r.open(stage), r.both(4)
			wg.Go(func() {
				for ctx.Err() == nil {
					_, _ = operate.Sweep(ctx, p.Store, cfg)
				}
			})
			wg.Go(func() {
				for i := 0; ctx.Err() == nil; i++ {
					_, _ = p.Update(ctx, rmw.Key{Name: fmt.Sprint("k", 1+i%4)}, add("x"))
				}
			})
		}
		p := r.open(follow)
		chosen := 0
		for range 10 {
			report := p.verify(r.old(5))
			assert.Zero(t, report.Wrong(), "%+v", report)
			chosen += report.Open + report.Equal + report.ChangedSince + report.Transit.Count
		}
		assert.Equal(t, 10*12, chosen)
		stop()
		wg.Wait()
	})
}
