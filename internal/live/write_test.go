package live

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/rules"
	"github.com/unwatch/unwatch/internal/wrap"
)

func example() *Report {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r := &Report{
		Schema: Schema, Profile: "codis", Began: began, Ended: began.Add(90 * time.Minute), Verdict: Findings,
		Uses: 1234, Commands: 7654321, Clients: 42,
		Servers: []Server{{Addr: "redis-with-a-long-name.svc.cluster.example:6379", Version: "7.0.15", Role: "master", Commands: 7654321}},
		Findings: []Finding{
			{
				Rule: "MC101", Severity: rules.Error, Command: "WATCH", Stat: Stat{1234, 2, 0}, Held: 2, Why: "WATCH is refused",
				Servers: map[string]Stat{"redis:6379": {1234, 2, 0}},
				From: []Seen{{Who: Who{Name: "a\x1b\"b\\", Host: "10.0.0.7", Lib: "go-redis 9.7.0", User: "desk"}, Connections: 3,
					MaxAge: 7500, Lines: 2, Server: "redis:6379"}},
			},
			{Rule: "MC402", Severity: rules.Error, Command: "SINTER", Sampled: 3, Why: "x", Keys: []string{"a:* b:*"}},
			{Rule: "MC403", Severity: rules.Note, Command: `odd"name`, Stat: Stat{Calls: 3},
				Servers: map[string]Stat{"redis:6379": {Calls: 3}}},
		},
		Attributed: []Attributed{{"redis:6379", "PUBLISH", 300, "the hello of 1 sentinel"}},
		Denied:     []Denied{{Count: 2, Object: "watch", Username: "desk", Context: "lua", Server: "redis:6379"}},
		Unseen:     []Unseen{{"redis:6379", "CLIENT LIST", "NOPERM no", "ACL SETUSER watcher +client|list"}},
		Monitored:  []Monitored{{"redis:6379", 10000, 1, 3.2, "10000 commands were seen"}},
	}
	r.Summary = r.summary()
	return r
}

func TestText(t *testing.T) {
	var out strings.Builder
	require.NoError(t, example().WriteText(&out))
	text := out.String()
	assert.True(t, strings.HasPrefix(text, "1,234 uses in 1 h 30 min of 7,654,321 commands from 42 clients on 1 server; 2\nclients"), text)
	for line := range strings.Lines(text) {
		assert.LessOrEqual(t, len([]rune(strings.TrimSuffix(line, "\n"))), wrap.Width, line)
	}
	assert.NotContains(t, text, "\x1b")
	oneLine := strings.Join(strings.Fields(text), " ")
	for _, want := range []string{
		"error WATCH: 1,236 uses, 2 of them refused by the server, 2 clients in the middle of it (MC101)",
		`from a?"b\ at 10.0.0.7 (go-redis 9.7.0, user desk), 3 connections, the oldest 2 h 5 min, 2 lines of MONITOR, on redis:6379`,
		"SINTER: 3 seen by MONITOR (MC402) x keys a:* b:*", "ACL SETUSER watcher +client|list", "300 PUBLISH: the hello of 1 sentinel",
	} {
		assert.Contains(t, oneLine, want)
	}
}

func TestTextOfOtherVerdicts(t *testing.T) {
	for verdict, want := range map[Verdict]string{
		Clean: "Nothing was sent that codis does not carry out", Incomplete: "This is no verdict",
	} {
		var out strings.Builder
		r := &Report{Verdict: verdict, Profile: "codis", Incomplete: []string{"it was ended early"}}
		r.Summary = r.summary()
		require.NoError(t, r.WriteText(&out))
		assert.Contains(t, out.String(), want)
	}
}

func TestJSON(t *testing.T) {
	var out strings.Builder
	require.NoError(t, example().WriteJSON(&out))
	var back Report
	require.NoError(t, json.Unmarshal([]byte(out.String()), &back))
	assert.Equal(t, "unwatch-live/1", back.Schema)
	assert.Equal(t, example().Findings[0].Stat, back.Findings[0].Stat)
	assert.Equal(t, example().Summary, back.Summary)
}

// In the text format of Prometheus, each metric has one HELP and one TYPE before its samples. Samples
// are together and unique.
func TestPrometheus(t *testing.T) {
	var out strings.Builder
	require.NoError(t, example().WritePrometheus(&out))
	assert.Contains(t, out.String(),
		`migrate_check_refused_commands_total{command="WATCH",rule="MC101",server="redis:6379",severity="error"} 1236`+"\n")
	assert.Contains(t, out.String(), `{command="odd\"name",`)
	assert.Contains(t, out.String(), "migrate_check_live_window_seconds 5400\n")
	sample := regexp.MustCompile(`^([a-z_]+)(\{([a-z]+="([^"\\]|\\["\\n])*",?)+\})? -?[0-9.]+$`)
	var current string
	metrics, samples := map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(out.String()) {
		line = strings.TrimSuffix(line, "\n")
		if name, ok := strings.CutPrefix(line, "# HELP "); ok {
			current, _, _ = strings.Cut(name, " ")
			assert.False(t, metrics[current], line)
			metrics[current] = true
			continue
		}
		if kind, ok := strings.CutPrefix(line, "# TYPE "+current+" "); ok {
			assert.Equal(t, strings.HasSuffix(current, "_total"), kind == "counter", line)
			continue
		}
		match := sample.FindStringSubmatch(line)
		require.NotNil(t, match, line)
		assert.Equal(t, current, match[1])
		series := line[:strings.LastIndex(line, " ")]
		assert.False(t, samples[series], line)
		samples[series] = true
	}
}

func TestJoin(t *testing.T) {
	static, err := ReadStatic(strings.NewReader(`{"rule":"MC103","path":"a.go"}` + "\n" + `{"findings":1}` + "\n"))
	require.NoError(t, err)
	r := example()
	r.Join(static)
	assert.Equal(t, 1, *r.Findings[0].InCode, "MC103 finds WATCH by its name")
	assert.Empty(t, r.Findings[0].Remark)
	assert.Contains(t, r.Findings[1].Remark, "another code base")
	assert.Nil(t, r.Findings[2].InCode, "a note is no finding")
	for _, bad := range []string{"", "no JSON", `{"rule":1}`} {
		_, err := ReadStatic(strings.NewReader(bad))
		require.Error(t, err, bad)
	}
}

// The guide has Rights, which a test with a real server uses.
func TestGuideHasRights(t *testing.T) {
	text, err := os.ReadFile("../../docs/migrate-check-live.md")
	require.NoError(t, err)
	assert.Contains(t, string(text), " on >... "+Rights+"\n")
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "less than 1 s", time.Second: "1 s", 600 * time.Second: "10 min", 25*time.Hour + time.Second: "25 h 1 s",
	} {
		assert.Equal(t, want, duration(d))
	}
}
