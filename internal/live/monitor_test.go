package live

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat"
)

func TestSentinels(t *testing.T) {
	sentinel := []string{
		"id=7 addr=10.0.0.9:1 name=sentinel-1f2e3d4c-cmd age=999 idle=0 flags=N multi=-1 cmd=publish",
		"id=8 addr=10.0.0.9:2 name=sentinel-1f2e3d4c-pubsub age=999 idle=0 flags=P sub=1 multi=-1 cmd=subscribe",
	}
	for name, test := range map[string]struct {
		publish int64
		other   []string
		uses    int64
	}{
		"only theirs":     {28, nil, 0},
		"somebody else's": {28, []string{clientLine(9, "desk", "flags=N multi=-1 cmd=publish")}, 3},
		"too many":        {200, nil, 169},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				f.clients = slices.Concat(test.other, sentinel)
				r := ran(t, f, Config{For: time.Minute}, at(3, func() { f.use("PUBLISH", test.publish) }))
				assert.Equal(t, test.uses, r.Uses)
				assert.Nil(t, found(r, "SUBSCRIBE"))
				require.Len(t, r.Attributed, 1)
				assert.Contains(t, r.Attributed[0].To, "the hello of 1 sentinel")
			})
		})
	}
}

// MONITOR shows arguments of a later server version.
func TestMonitorReportsNewerArguments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		profile, err := proxycompat.Lookup("codis@3.2")
		require.NoError(t, err)
		f := newFake()
		r := ran(t, f, Config{Profile: profile, Monitor: &MonitorConfig{}}, at(2, func() {
			f.show(`[0 10.0.0.7:40009] "HSET" "user:17" "a" "secret" "b" "2"`, `[0 10.0.0.7:40009] "HSET" "user:18" "a" "1"`)
		}))
		hset := found(r, "HSET")
		require.NotNil(t, hset)
		assert.Equal(t, "MC401", hset.Rule)
		assert.Equal(t, int64(1), hset.Sampled)
		assert.Equal(t, "more than one field needs Redis 4.0 or later, and the server behind is 3.2", hset.Why)
		assert.Equal(t, "HMSET, or one HSET for each field", hset.Instead)
		assert.Equal(t, []string{"user:*"}, hset.Keys)
	})
}

// The whole report of a run with MONITOR is in testdata. It has no values, and the patterns of keys only.
func TestMonitorReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.clients = []string{
			clientLine(9, "desk", "flags=N multi=-1 cmd=get"), clientLine(7, ownName+"other", "flags=N multi=-1 cmd=info"),
		}
		r := ran(t, f, Config{Monitor: &MonitorConfig{}}, at(2, func() {
			for command, calls := range map[string]int64{"WATCH": 1, "PUBLISH": 3, "EVAL": 2, "SINTER": 2, "SUNION": 1, "CLIENT LIST": 1} {
				f.use(command, calls)
			}
			f.show(
				`[0 10.0.0.7:40009] "SINTER" "tag:17" "user:18"`, `[0 10.0.0.7:40009] "sinter" "{a}1" "{a}2"`,
				`[0 10.0.0.7:40009] "SINTER" "`+strings.Repeat("x", maxLine)+`" "user:18"`, `[0 10.0.0.7:40009] "SUNION" "{a}1" "{a}2"`,
				`[0 10.0.0.7:40009] "PUBLISH" "c" "secret"`, `[0 lua] "publish" "c" "secret"`,
				`[0 10.0.0.9:1] "PUBLISH" "__sentinel__:hello" "secret"`, `[0 10.0.0.7:40009] "EVAL" "return 1" "0"`,
				`[0 10.0.0.7:40009] "EVAL" "return 1" "2" "user:17" "room:2"`,
				`[0 pipe] "CLIENT" "LIST"`, `[0 10.0.0.7:40007] "CLIENT" "LIST"`, "no line at all")
		}))
		want, err := os.ReadFile("testdata/monitor.txt")
		require.NoError(t, err)
		var text, json strings.Builder
		require.NoError(t, r.WriteText(&text))
		require.Equal(t, string(want), text.String())
		require.NoError(t, r.WriteJSON(&json))
		assert.NotContains(t, json.String(), "secret")
		assert.NotContains(t, json.String(), "user:1")
		assert.Empty(t, found(r, "CLIENT LIST").From, "that was us, and another run of this program")
		assert.Equal(t, 1, r.Monitored[0].Cut)
	})
}

func TestMonitorIsBounded(t *testing.T) {
	get := `[0 10.0.0.7:40009] "GET" "k"`
	for name, test := range map[string]struct {
		cfg   MonitorConfig
		ops   string
		lines int
		want  string
		early bool
	}{
		"time":   {MonitorConfig{For: 5 * time.Second}, "1", 10, "its time was over", false},
		"lines":  {MonitorConfig{Lines: 7}, "1", 10, "7 commands were seen", true},
		"rate":   {MonitorConfig{Rate: 8}, "1", 10, "there were more than 8 commands within a second", true},
		"forced": {MonitorConfig{Rate: 8, Force: true}, "9", 10, "its time was over", false},
		"busy":   {MonitorConfig{}, "5001", 0, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				f.fields["instantaneous_ops_per_sec"] = test.ops
				var lines []MonitorLine
				test.cfg.Line = func(line MonitorLine) { lines = append(lines, line) }
				r := ran(t, f, Config{For: 20 * time.Second, Monitor: &test.cfg}, at(1, func() {
					for range test.lines {
						f.show(get)
					}
				}))
				if test.want == "" {
					assert.Empty(t, r.Monitored)
					assert.Contains(t, r.Incomplete[0], "gets 5001 commands a second, so MONITOR was not sent")
					return
				}
				assert.Equal(t, test.want, r.Monitored[0].Ended)
				assert.Equal(t, test.early, r.Monitored[0].Early)
				assert.Equal(t, MonitorLine{Source: "10.0.0.7:40009", Args: []string{"GET", "k"}}, lines[0])
				assert.Equal(t, Clean, r.Verdict)
			})
		})
	}
}
