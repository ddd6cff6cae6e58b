package integration

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/cutover/operate"
	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// The old server keeps at most 200 bytes more for a key that has moved, on average over values of 0.5 to 1.5 KB. Its allocator
// rounds up, so that a value of one size takes 96 bytes more, and another one 352. A move of a batch calls at most 25 commands a
// key, those of scripts included.
func TestMoveCosts(t *testing.T) {
	t.Parallel()
	const keys = 4000
	ctx := t.Context()
	old, new := client(t, servers.Redis(t).Addr), client(t, servers.Redis(t).Addr)
	name := func(i int) string { return fmt.Sprintf("session:%08d", i) }
	perKey := func(before int64) int64 { return (usedMemory(t, old) - before) / keys }
	pipe := old.Pipeline()
	for i := range keys {
		pipe.Set(ctx, name(i), strings.Repeat("v", 500+i*1000/keys), 0)
	}
	_, err := pipe.Exec(ctx)
	require.NoError(t, err)
	store := cutover.New(
		cutover.Side{Store: lockupdate.New(old, lockupdate.Config{}), Redis: old},
		cutover.Side{Store: lockupdate.New(new, lockupdate.Config{}), Redis: new},
		cutover.Config{Stage: cutover.Stage{Phase: cutover.Copying, Percent: 100}})
	defer store.Close()
	sweep := func(chosen func(string) bool, moved int) {
		cfg := operate.SweepConfig{Masters: []operate.Scanner{old}, Keys: func(name string) (rmw.Key, bool) {
			return rmw.Key{}, chosen(name)
		}}
		pass, err := operate.Sweep(ctx, store, cfg)
		require.NoError(t, err)
		require.Equal(t, moved, pass.Moved)
	}
	sweep(func(key string) bool { return key < name(100) }, 100) // the first use of a command allocates its statistics
	before, called := usedMemory(t, old), calls(t, old)+calls(t, new)
	sweep(func(key string) bool { return key >= name(100) }, keys-100)
	t.Logf("a marker takes %d bytes more than its value", perKey(before))
	assert.LessOrEqual(t, perKey(before), int64(200))

	called = calls(t, old) + calls(t, new) - called
	t.Logf("a move calls %.2f commands", float64(called)/(keys-100))
	assert.LessOrEqual(t, called, int64(25*keys))

	for i := range keys {
		pipe.RPush(ctx, name(i), strings.Repeat("x", 44))
	}
	_, err = pipe.Exec(ctx)
	require.NoError(t, err)
	assert.Greater(t, perKey(before), int64(200), "control: markers with nonces of 36 bytes")
}

// BenchmarkSweep moves 20,000 values of 1 KB per iteration, with two idle servers. It reports the CPU time of both servers and the
// pause of the median batch as well.
func BenchmarkSweep(b *testing.B) {
	const keys = 20_000
	old, new := client(b, servers.Redis(b).Addr), client(b, servers.Redis(b).Addr)
	store := cutover.New(
		cutover.Side{Store: lockupdate.New(old, lockupdate.Config{}), Redis: old},
		cutover.Side{Store: lockupdate.New(new, lockupdate.Config{}), Redis: new},
		cutover.Config{Stage: cutover.Stage{Phase: cutover.Copying, Percent: 100}})
	defer store.Close()
	cpu := func(rdb *redis.Client) float64 {
		return sum(b, rdb, "cpu", `(?m)^used_cpu_user:([\d.]+)`) + sum(b, rdb, "cpu", `(?m)^used_cpu_sys:([\d.]+)`)
	}
	var busy [2]float64
	var pause operate.Pause
	for b.Loop() {
		b.StopTimer()
		require.NoError(b, old.FlushAll(b.Context()).Err())
		require.NoError(b, new.FlushAll(b.Context()).Err())
		pipe := old.Pipeline()
		for i := range keys {
			pipe.Set(b.Context(), fmt.Sprintf("session:%08d", i), strings.Repeat("v", 1000), 0)
		}
		_, err := pipe.Exec(b.Context())
		require.NoError(b, err)
		before := [2]float64{cpu(old), cpu(new)}
		b.StartTimer()
		pass, err := operate.Sweep(b.Context(), store, operate.SweepConfig{Masters: []operate.Scanner{old}})
		b.StopTimer()
		require.NoError(b, err)
		require.Equal(b, keys, pass.Moved)
		busy[0] += cpu(old) - before[0]
		busy[1] += cpu(new) - before[1]
		pause = pass.Pause
		b.StartTimer()
	}
	moved := float64(b.N * keys)
	b.ReportMetric(moved/b.Elapsed().Seconds(), "keys/s")
	b.ReportMetric(busy[0]/moved*1e6, "old-cpu-us/key")
	b.ReportMetric(busy[1]/moved*1e6, "new-cpu-us/key")
	b.ReportMetric(float64(pause.P50)/1e3, "pause-p50-us")
	b.ReportMetric(float64(pause.P99)/1e3, "pause-p99-us")
	b.ReportMetric(0, "ns/op")
}

func usedMemory(t *testing.T, rdb *redis.Client) int64 {
	t.Helper()
	return int64(sum(t, rdb, "memory", `(?m)^used_memory:(\d+)`))
}

// calls returns how many commands the server has executed, those of scripts included.
func calls(t *testing.T, rdb *redis.Client) int64 {
	t.Helper()
	return int64(sum(t, rdb, "commandstats", `(?m)^cmdstat_.*:calls=(\d+)`))
}

// sum adds the numbers that the pattern finds in a section of INFO.
func sum(t testing.TB, rdb *redis.Client, section, pattern string) (total float64) {
	t.Helper()
	text, err := rdb.Info(t.Context(), section).Result()
	require.NoError(t, err)
	found := regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1)
	require.NotEmpty(t, found)
	for _, one := range found {
		n, err := strconv.ParseFloat(one[1], 64)
		require.NoError(t, err)
		total += n
	}
	return total
}
