package live

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/rules"
)

func example() *Report {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r := &Report{
		Schema: Schema, Profile: "codis", Began: began, Ended: began.Add(90 * time.Minute), Verdict: Findings,
		Uses: 1234, Commands: 7654321, Clients: 42,
		Servers: []Server{{Addr: "redis-with-a-long-name.svc.cluster.example:6379", Version: "7.0.15", Product: "Redis 7.0.15",
			Role: "master", Commands: 7654321, Clients: 42, Looks: 5401, Lists: 540}},
		Findings: []Finding{
			{
				Rule: "MC101", Severity: rules.Error, Command: "WATCH", Stat: Stat{1234, 2, 0}, Held: 2, Why: "WATCH is refused",
				Instead: "a guarded update",
				Servers: map[string]Stat{"redis:6379": {1234, 2, 0}},
				From: []Seen{{Who: Who{Name: "a\x1b\"b\\", Host: "10.0.0.7", Lib: "go-redis 9.7.0", User: "desk"}, Connections: 3,
					MaxAge: 7500, Lines: 2, Server: "redis:6379"}},
			},
			{Rule: "MC402", Severity: rules.Error, Command: "SINTER", Sampled: 3, InLua: 1, Why: "two slots", Keys: []string{"a:* b:*"},
				Remark: "in another slot"},
			{Rule: "MC403", Severity: rules.Note, Command: `odd"name`, Stat: Stat{Calls: 3},
				Why: "hash tags", Remark: "rare", Held: 1, Servers: map[string]Stat{"redis:6379": {Calls: 3}}},
		},
		Attributed: []Attributed{{"redis:6379", "PUBLISH", 300, "the hello of 1 sentinel"}},
		Denied: []Denied{{Count: 2, Object: "watch", Username: "desk", Context: "lua", Server: "redis:6379",
			Who: Who{Host: "10.0.0.7"}}},
		Unseen:    []Unseen{{"redis:6379", "CLIENT LIST", "NOPERM no", "ACL SETUSER watcher +client|list"}},
		Monitored: []Monitored{{Server: "redis:6379", Lines: 10000, Cut: 1, Seconds: 3.2, Ended: "its time was over"}},
	}
	r.Summary = r.summary()
	return r
}

// Names of a server are printed without control characters.
func ExampleReport_WriteText() {
	_ = example().WriteText(os.Stdout)
	// Output:
	// 1,234 uses in 1 h 30 min of 7,654,321 commands from 42 clients on 1 server; 2
	// clients in the middle of one
	//
	// error    WATCH: 1,236 uses, 2 of them refused by the server, 2 clients in the
	//          middle of it (MC101)
	//          WATCH is refused
	//          instead: a guarded update
	//          from a?"b\ at 10.0.0.7 (go-redis 9.7.0, user desk), 3 connections, the
	//               oldest 2 h 5 min, 2 lines of MONITOR, on redis:6379
	//
	// error    SINTER: 3 seen by MONITOR, 1 in scripts (MC402)
	//          two slots
	//          in another slot
	//          keys a:* b:*
	//
	// Notes, which do not count:
	//   - odd"name: 3 uses, 1 client in the middle of it (MC403): hash tags; rare
	//
	// Refused by an ACL (ACL LOG):
	//   - watch, 2 times, user desk, lua: no name at 10.0.0.7, on redis:6379
	//
	// Could not be looked at:
	//   - redis:6379: CLIENT LIST: NOPERM no; ACL SETUSER watcher +client|list
	//
	// Not counted, because servers sent them themselves:
	//   - redis:6379: 300 PUBLISH: the hello of 1 sentinel
	//
	// MONITOR, which is a sample:
	//   - redis:6379: 10,000 lines in 3.2 s; its time was over
	//
	// How:
	//   - redis-with-a-long-name.svc.cluster.example:6379: Redis 7.0.15, master,
	//     7,654,321 commands, 42 clients, looked at 5,401 times, clients 540 times
}

func TestTextOfOtherVerdicts(t *testing.T) {
	for verdict, want := range map[Verdict]string{
		Clean: "Nothing was sent that codis does not carry out", Incomplete: "There is no verdict",
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

func ExampleReport_WritePrometheus() {
	_ = example().WritePrometheus(os.Stdout)
	// Output:
	// # HELP migrate_check_refused_commands_total Uses of commands that the proxy does not carry out, by server.
	// # TYPE migrate_check_refused_commands_total counter
	// migrate_check_refused_commands_total{command="WATCH",rule="MC101",server="redis:6379",severity="error"} 1236
	// migrate_check_refused_commands_total{command="odd\"name",rule="MC403",server="redis:6379",severity="note"} 3
	// # HELP migrate_check_live_uses Uses that count, of all servers together. They are 0 after the migration.
	// # TYPE migrate_check_live_uses gauge
	// migrate_check_live_uses 1234
	// # HELP migrate_check_live_sampled_uses Uses that only MONITOR shows, in its sample.
	// # TYPE migrate_check_live_sampled_uses gauge
	// migrate_check_live_sampled_uses{command="SINTER",rule="MC402",severity="error"} 3
	// # HELP migrate_check_live_held_clients Clients subscribed, in MULTI or blocked, at most at one moment.
	// # TYPE migrate_check_live_held_clients gauge
	// migrate_check_live_held_clients{command="WATCH",rule="MC101",severity="error"} 2
	// migrate_check_live_held_clients{command="odd\"name",rule="MC403",severity="note"} 1
	// # HELP migrate_check_commands_total All commands in the window, without our own.
	// # TYPE migrate_check_commands_total counter
	// migrate_check_commands_total{server="redis-with-a-long-name.svc.cluster.example:6379"} 7654321
	// # HELP migrate_check_live_clients Connections of clients that were seen.
	// # TYPE migrate_check_live_clients gauge
	// migrate_check_live_clients{server="redis-with-a-long-name.svc.cluster.example:6379"} 42
	// # HELP migrate_check_live_findings Findings, by severity; notes do not count.
	// # TYPE migrate_check_live_findings gauge
	// migrate_check_live_findings{severity="critical"} 0
	// migrate_check_live_findings{severity="error"} 2
	// migrate_check_live_findings{severity="warning"} 0
	// migrate_check_live_findings{severity="note"} 1
	// # HELP migrate_check_live_window_seconds How long was looked.
	// # TYPE migrate_check_live_window_seconds gauge
	// migrate_check_live_window_seconds 5400
	// # HELP migrate_check_live_end_timestamp_seconds When the window ended.
	// # TYPE migrate_check_live_end_timestamp_seconds gauge
	// migrate_check_live_end_timestamp_seconds 1767328445
	// # HELP migrate_check_live_verdict 1 of the verdict: clean, findings or incomplete.
	// # TYPE migrate_check_live_verdict gauge
	// migrate_check_live_verdict{profile="codis",verdict="clean"} 0
	// migrate_check_live_verdict{profile="codis",verdict="findings"} 1
	// migrate_check_live_verdict{profile="codis",verdict="incomplete"} 0
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
