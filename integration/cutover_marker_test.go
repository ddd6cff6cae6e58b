package integration

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// markerMagic begins each marker.
const markerMagic = "~unwatch:9f2c4e7b"

// markers sends the same steps to the engine of proxytest and to a redis-server.
type markers struct {
	t       *testing.T
	rng     *rand.Rand
	servers [2]*redis.Client // the real one is the second
	shas    [2]string
	pool    [][]string // type and content of values
	nonce   string     // of the key's marker
	slowest time.Duration
	changed map[string]int // how often a step has changed the key
	log     []string

	differences []string
}

const markedKey = "k"

// A redis-server and the engine of the tests of package cutover return the same for the script of a move, and
// store the same.
func TestMarkerScriptMatchesRealServer(t *testing.T) {
	t.Parallel()
	large := []string{"hash"}
	for i := range 3000 {
		large = append(large, fmt.Sprint("field", i), strings.Repeat("x", i%7))
	}
	binary := "\x00\xff\r\n$-1\r\n\x80"
	small := [][]string{
		{"string", ""},
		{"string", "v"},
		{"string", binary},
		{"hash", "f", "v"},
		{"hash", "", "", binary, binary, "n", "1e+12"},
		{"none"},
	}
	for name, tc := range map[string]struct {
		pool  [][]string
		steps int
	}{
		"small": {small, 2000},
		"large": {append(small, []string{"string", strings.Repeat("\x00x", 1<<19)}, large), 300},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMarkers(t, tc.pool, func(script string) string { return script })
			require.Empty(t, m.play(tc.steps))
			for _, step := range []string{"reserve", "seal", "fill", "mark", "unseal", "unreserve"} {
				assert.Positive(t, m.changed[step], step)
			}
			t.Logf("%d steps, the slowest in %v: %v", tc.steps, m.slowest, m.changed)
		})
	}
	for name, change := range map[string][2]string{ // negative controls
		"a fill over any marker":     {"step == 'fill' and state == 'away' and ours", "step == 'fill' and state == 'away'"},
		"a seal that keeps no value": {"value = {redis.call('GET', KEYS[1])}", "value = {''}"},
		"an expiry in seconds":       {"'PX', string", "'EX', string"},
		"a mark that changes none":   {"redis.pcall('LSET', KEYS[1], 1, 'away')", "redis.pcall('LSET', KEYS[1], 1, 'sealed')"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMarkers(t, small, func(script string) string {
				require.Contains(t, script, change[0])
				return strings.Replace(script, change[0], change[1], 1)
			})
			assert.NotEmpty(t, m.play(1000))
		})
	}
}

// newMarkers starts both servers. The script of the real one is changed.
func newMarkers(t *testing.T, pool [][]string, change func(script string) string) *markers {
	source, err := os.ReadFile("../cutover/internal/marker/marker.lua")
	require.NoError(t, err)
	require.Contains(t, string(source), "'"+markerMagic+"'")
	engine, err := proxytest.Start(proxytest.Config{Profile: proxycompat.Redis()})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, engine.Close()) })
	m := &markers{t: t, rng: rand.New(rand.NewPCG(1, 1)), pool: pool, changed: map[string]int{}}
	for i, addr := range []string{engine.Addr(), servers.Redis(t).Addr} {
		m.servers[i] = redis.NewClient(&redis.Options{Addr: addr, Protocol: 2}) // no reply is a map
		t.Cleanup(func() { assert.NoError(t, m.servers[i].Close()) })
		script := string(source)
		if i == 1 {
			script = change(script)
		}
		m.shas[i], err = m.servers[i].ScriptLoad(t.Context(), script).Result()
		require.NoError(t, err)
	}
	return m
}

// play takes steps until both servers differ, and returns how.
func (m *markers) play(steps int) (differences []string) {
	for range steps {
		m.step()
		m.compare()
		if len(m.differences) > 0 {
			return append(m.differences, m.log[max(0, len(m.log)-12):]...)
		}
	}
	return nil
}

func (m *markers) differ(what string, ours, theirs any) {
	m.differences = append(m.differences, fmt.Sprintf("%s: ours %.200q, real %.200q", what, ours, theirs))
}

// both sends a command to both servers and returns the replies. Errors are replies.
func (m *markers) both(args ...any) (replies [2]any) {
	began := time.Now()
	for i, rdb := range m.servers {
		if args[0] == "evalsha" {
			args[1] = m.shas[i]
		}
		reply, err := rdb.Do(m.t.Context(), args...).Result()
		if err != nil {
			kind, _, _ := strings.Cut(err.Error(), " ")
			reply = "error: " + kind
		}
		replies[i] = reply
	}
	m.slowest = max(m.slowest, time.Since(began))
	return replies
}

func (m *markers) value() []string { return m.pool[m.rng.IntN(len(m.pool))] }

func anys(words ...string) (all []any) {
	for _, w := range words {
		all = append(all, w)
	}
	return all
}

// step sends a random step with the nonce of the marker, or at times with another one.
func (m *markers) step() {
	fresh := fmt.Sprintf("%d.%d", m.rng.IntN(9), m.rng.Int())
	ours := m.nonce
	if m.rng.IntN(4) == 0 || ours == "" {
		ours = "1.other"
	}
	lefts := []string{"-1", "0", "100000", "4102444800000"}
	left := lefts[m.rng.IntN(len(lefts))]
	script := func(step, nonce string, args ...any) {
		m.send(step, append([]any{"evalsha", "", 1, markedKey, step, nonce}, args...))
	}
	switch step := m.rng.IntN(22); step {
	case 0, 1, 2:
		script("reserve", fresh)
	case 3, 4, 5:
		limit := 1 << 22
		if m.rng.IntN(4) == 0 {
			limit = m.rng.IntN(20)
		}
		script("seal", fresh, []string{fresh, ""}[m.rng.IntN(2)], limit)
	case 6, 7, 8:
		v := m.value()
		script("fill", ours, append([]any{v[0], left}, anys(v[1:]...)...)...)
	case 9, 10:
		script("mark", ours)
	case 11, 12:
		script("unseal", ours)
	case 13, 14:
		script("unreserve", ours)
	case 15:
		script("touch", ours)
	case 16:
		script("look", "", []any{"", "value"}[m.rng.IntN(2)])
	case 17, 18: // a value by a writer that does not look
		switch v := m.value(); v[0] {
		case "string":
			m.send("SET", append([]any{"SET", markedKey}, anys(v[1:]...)...))
		case "hash":
			m.send("HSET", append([]any{"HSET", markedKey}, anys(v[1:]...)...))
		default:
			m.send("DEL", []any{"DEL", markedKey})
		}
	case 19:
		m.send("PEXPIRE", []any{"PEXPIRE", markedKey, left})
	case 20: // another type, or a list that is no marker
		m.send("foreign", [][]any{{"SADD", markedKey, "a"}, {"RPUSH", markedKey, "a"}}[m.rng.IntN(2)])
	case 21: // a seal of long ago, or by a server whose clock was ahead
		v := m.value()
		at := time.Now().UnixMilli() + []int64{-3_600_000, 3_600_000}[m.rng.IntN(2)]
		m.both("DEL", markedKey)
		m.send("old seal", append([]any{"RPUSH", markedKey, markerMagic, "sealed", fresh, "", v[0],
			[]string{"-1", "60000"}[m.rng.IntN(2)], at}, anys(v[1:]...)...))
	}
}

// send sends the command, and compares the replies.
func (m *markers) send(step string, args []any) {
	m.log = append(m.log, fmt.Sprintf("%s %.60q", step, args[min(len(args), 4):]))
	before := m.both("LRANGE", markedKey, 0, 2)[1]
	replies := m.both(args...)
	if ours, theirs := words(replies[0]), words(replies[1]); len(theirs) >= 5 {
		m.sameLooks(ours, theirs)
	} else if !assert.ObjectsAreEqual(replies[1], replies[0]) {
		m.differ("reply to "+step, fmt.Sprint(replies[0]), fmt.Sprint(replies[1]))
	}
	after := m.both("LRANGE", markedKey, 0, 2)[1]
	if fmt.Sprint(before) != fmt.Sprint(after) {
		m.changed[step]++
	}
	m.nonce = ""
	if list, ok := after.([]any); ok && len(list) == 3 && list[0] == markerMagic {
		m.nonce = list[2].(string)
	}
}

// words returns a reply as a list.
func words(reply any) (all []string) {
	list, ok := reply.([]any)
	if !ok {
		return []string{fmt.Sprint(reply)}
	}
	for _, e := range list {
		all = append(all, fmt.Sprint(e))
	}
	return all
}

// sameLooks compares state, nonces, type, expiry and value of two looks at a marker.
func (m *markers) sameLooks(ours, theirs []string) {
	if len(ours) != len(theirs) {
		m.differ("look", ours, theirs)
		return
	}
	m.sameExpiry(ours[4], theirs[4])
	m.sameContent(ours[3], ours[:4], theirs[:4])
	m.sameContent(ours[3], ours[5:], theirs[5:])
}

// sameContent compares lists. The fields of a hash have no order.
func (m *markers) sameContent(kind string, ours, theirs []string) {
	if kind == "hash" && len(ours)%2 == 0 {
		ours, theirs = byField(ours), byField(theirs)
	}
	if !slices.Equal(ours, theirs) {
		m.differ("content", ours, theirs)
	}
}

func byField(list []string) (pairs []string) {
	for i := 0; i+1 < len(list); i += 2 {
		pairs = append(pairs, strconv.Quote(list[i])+strconv.Quote(list[i+1]))
	}
	slices.Sort(pairs)
	return pairs
}

// sameExpiry compares times in ms. A step reaches one server after the other.
func (m *markers) sameExpiry(ours, theirs string) {
	a, err1 := strconv.ParseInt(ours, 10, 64)
	b, err2 := strconv.ParseInt(theirs, 10, 64)
	if err1 != nil || err2 != nil || a < 0 || b < 0 {
		if ours != theirs {
			m.differ("expiry", ours, theirs)
		}
		return
	}
	if max(a-b, b-a) > 5+2*m.slowest.Milliseconds() {
		m.differ("expiry", ours, theirs)
	}
}

// compare compares the type, the expiry, and the value or the marker on both servers.
func (m *markers) compare() {
	kinds, expiries := m.both("TYPE", markedKey), m.both("PTTL", markedKey)
	if kinds[0] != kinds[1] {
		m.differ("TYPE", kinds[0], kinds[1])
	}
	m.sameExpiry(fmt.Sprint(expiries[0]), fmt.Sprint(expiries[1]))
	read := map[any][]any{"string": {"GET", markedKey}, "hash": {"HGETALL", markedKey}, "list": {"LRANGE", markedKey, 0, -1}}[kinds[1]]
	if read == nil || len(m.differences) > 0 {
		return
	}
	stored := m.both(read...)
	ours, theirs := words(stored[0]), words(stored[1])
	if kinds[1] == "list" && len(ours) > 6 && len(theirs) > 6 {
		m.sameExpiry(ours[5], theirs[5])
		m.sameExpiry(ours[6], theirs[6])
		m.sameContent("", ours[:5], theirs[:5])
		m.sameContent(ours[4], ours[7:], theirs[7:])
		return
	}
	m.sameContent(fmt.Sprint(kinds[1]), ours, theirs)
}
