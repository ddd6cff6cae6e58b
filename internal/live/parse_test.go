package live

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/resp"
)

func sample(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return strings.ReplaceAll(string(text), "\n", "\r\n")
}

func TestParseInfo(t *testing.T) {
	for name, test := range map[string]struct {
		major    int
		fields   map[string]string
		commands map[string]Stat
	}{
		"info-3.2.txt": {3, map[string]string{"role": "master", "cluster_enabled": "0"}, map[string]Stat{
			"GET": {Calls: 90000123}, "WATCH": {Calls: 4021}, "CLIENT": {Calls: 12}, "HOST:": {Calls: 1},
		}},
		"info-6.2.txt": {6, map[string]string{"master_replid": "81d1a2f3b4c5d6e7f8091a2b3c4d5e6f70819203"}, map[string]Stat{
			"GET": {Calls: 17}, "EXEC": {9, 2, 1}, "SCRIPT": {Calls: 3}, "GRAPH.QUERY": {Calls: 4},
		}},
		"info-7.0.txt": {7, nil, map[string]Stat{
			"CLIENT LIST": {Calls: 2}, "CLIENT SETINFO": {Rejected: 4}, "CONFIG RESETSTAT": {Calls: 1}, "UNWATCH": {}, "WATCH": {3, 1, 1},
		}},
		"info-8.0.txt": {8, map[string]string{"watching_clients": "2", "redis_mode": "cluster"}, map[string]Stat{
			"FT.SEARCH": {Calls: 12}, "HELLO": {Calls: 31}, "SCRIPT LOAD": {Calls: 1},
		}},
	} {
		info := ParseInfo(sample(t, name))
		assert.Equal(t, test.major, info.major(), name)
		assert.Equal(t, test.commands, info.Commands, name)
		assert.Len(t, info.Fields["run_id"], 40, name)
		for field, want := range test.fields {
			assert.Equal(t, want, info.Fields[field], name)
		}
	}
}

// Any INFO is counted.
func FuzzParseInfo(f *testing.F) {
	for _, name := range []string{"info-3.2.txt", "info-6.2.txt", "info-7.0.txt", "info-8.0.txt"} {
		f.Add(sample(f, name))
	}
	f.Fuzz(func(t *testing.T, text string) {
		for name, stat := range ParseInfo(text).Commands {
			if name == "" || stat.Calls < 0 || stat.Rejected < 0 || stat.Failed < 0 {
				t.Errorf("%q: %v", name, stat)
			}
		}
	})
}

func TestParseClients(t *testing.T) {
	var got []string
	kinds := map[int64]Kind{}
	for _, c := range ParseClients(sample(t, "clients.txt")) {
		kinds[c.ID] = c.Kind()
		got = append(got, c.Host()+" "+c.Cmd+": "+strings.Join(c.Holds(), " "))
	}
	assert.Equal(t, []string{
		"10.0.0.7 WATCH: ", "10.0.0.7 SET: MULTI", "/var/run/redis.sock : ", "10.0.0.8 REPLCONF: ", "10.0.0.9 PUBLISH: ",
		"10.0.0.9 SUBSCRIBE: SUBSCRIBE", "fd00::7 PSUBSCRIBE: SUBSCRIBE PSUBSCRIBE SSUBSCRIBE", "10.0.0.7 GET: WATCH",
		"10.0.0.7 BLPOP: BLPOP", "10.0.0.7 MONITOR: ", "10.0.0.7 CLIENT LIST: ",
	}, got)
	assert.Equal(t, map[int64]Kind{
		3: Service, 4: Service, 5: Service, 6: Replica, 7: Sentinel, 8: Sentinel, 9: Service,
		10: Service, 11: Service, 12: Monitor, 13: Service,
	}, kinds)
	all := ParseClients(sample(t, "clients.txt"))
	assert.Equal(t, "go-redis(,go1.26) 9.7.0", all[7].Lib)
	assert.Equal(t, int64(90061), all[1].Age)
}

// Any CLIENT LIST is counted.
func FuzzParseClients(f *testing.F) {
	f.Add(sample(f, "clients.txt"))
	f.Fuzz(func(t *testing.T, text string) {
		for _, c := range ParseClients(text) {
			if c.Addr == "" {
				t.Error("a client without an address")
			}
			_, _, _ = c.Host(), c.Kind(), c.Holds()
		}
	})
}

// logReply is a reply to ACL LOG, of Redis 7.2 with entry ids, or of an earlier version.
func logReply(numbered bool, entries ...Denied) []byte {
	out := resp.AppendArray(nil, len(entries))
	for _, d := range entries {
		fields := 14
		if numbered {
			fields += 2
		}
		out = resp.AppendArray(out, fields)
		out = resp.AppendInt(resp.AppendBulk(out, "count"), d.Count)
		out = resp.AppendBulk(resp.AppendBulk(out, "reason"), d.Reason)
		out = resp.AppendBulk(resp.AppendBulk(out, "context"), d.Context)
		out = resp.AppendBulk(resp.AppendBulk(out, "object"), d.Object)
		out = resp.AppendBulk(resp.AppendBulk(out, "username"), d.Username)
		out = resp.AppendBulk(resp.AppendBulk(out, "age-seconds"), "12.5")
		out = resp.AppendBulk(resp.AppendBulk(out, "client-info"), "id=9 addr=10.0.0.7:5 name=desk cmd=watch user="+d.Username)
		if numbered {
			out = resp.AppendInt(resp.AppendBulk(out, "entry-id"), d.ID)
		}
	}
	return out
}

func TestParseDenied(t *testing.T) {
	watch := Denied{ID: 0, Count: 3, Reason: "command", Context: "toplevel", Object: "watch", Username: "desk"}
	key := Denied{ID: 7, Count: 1, Reason: "key", Context: "lua", Object: "secret:key", Username: "desk"}
	all := parseDenied(logReply(true, watch, key))
	require.Len(t, all, 2)
	assert.Equal(t, "WATCH", all[0].command())
	assert.Equal(t, int64(1), all[0].ID)
	assert.Equal(t, 12.5, all[0].Age)
	assert.Equal(t, Who{Name: "desk", Host: "10.0.0.7", User: "desk"}, all[0].Who)
	assert.Empty(t, all[1].command())
	assert.Empty(t, all[1].Object, "a key is not kept")
	assert.Empty(t, parseDenied(resp.AppendError(nil, "ERR no")))
	assert.Len(t, parseDenied(logReply(true, watch)[:60]), 0, "a reply that was cut")
}

func TestNewDenied(t *testing.T) {
	entry := func(id, count int64, object string, age float64) Denied {
		return Denied{ID: id, Count: count, Reason: "command", Object: object, Age: age}
	}
	for name, test := range map[string]struct {
		before, after []Denied
		want          map[string]int64
	}{
		"nothing new": {[]Denied{entry(1, 3, "watch", 5)}, []Denied{entry(1, 3, "watch", 15)}, map[string]int64{}},
		"grown":       {[]Denied{entry(1, 3, "watch", 5)}, []Denied{entry(1, 5, "watch", 1)}, map[string]int64{"watch": 2}},
		"new": {[]Denied{entry(1, 3, "watch", 5)}, []Denied{entry(2, 1, "exec", 1), entry(1, 3, "watch", 15)},
			map[string]int64{"exec": 1}},
		"without numbers": {[]Denied{entry(0, 1, "watch", 90)}, []Denied{entry(0, 1, "watch", 1), entry(0, 1, "watch", 99)},
			map[string]int64{"watch": 1}},
		"the old is evicted": {[]Denied{entry(0, 1, "watch", 90)}, []Denied{entry(0, 1, "watch", 1)}, map[string]int64{"watch": 1}},
		"emptied":            {[]Denied{entry(1, 3, "watch", 5)}, nil, map[string]int64{}},
	} {
		got := map[string]int64{}
		for _, d := range newDenied(test.before, test.after) {
			got[d.Object] += d.Count
		}
		assert.Equal(t, test.want, got, name)
	}
}

func TestParseMonitorLine(t *testing.T) {
	for line, want := range map[string]MonitorLine{
		`+1700000000.123456 [0 10.0.0.7:51234] "SET" "a b" "x\"] \\ \n\r\t\a\b\x00é"`: {
			Source: "10.0.0.7:51234", Args: []string{"SET", "a b", "x\"] \\ \n\r\t\a\b\x00é"}},
		`1700000000.123456 [3 lua] "publish" "c" ""`:                {Source: "lua", DB: 3, Args: []string{"publish", "c", ""}},
		`1700000000.123456 [0 unix:/tmp/a b] x.sock] "PING"`:        {Source: "unix:/tmp/a b] x.sock", Args: []string{"PING"}},
		`1700000000.123456 [0 [fd00::7]:1] "GET" "k"`:               {Source: "[fd00::7]:1", Args: []string{"GET", "k"}},
		`1700000000.123456 [0 10.0.0.7:51234] "SET" "key" "long va`: {Source: "10.0.0.7:51234", Args: []string{"SET", "key"}, Cut: true},
	} {
		got, ok := ParseMonitorLine(line + "\r\n")
		assert.True(t, ok, line)
		assert.Equal(t, want, got, line)
	}
	for _, line := range []string{"", "+OK", "1700000000.1 [0 a:1]", `1700000000.1 [0 a:1] "`, `[0] "PING"`, "-ERR no"} {
		_, ok := ParseMonitorLine(line)
		assert.False(t, ok, line)
	}
}

// Any line of MONITOR is counted.
func FuzzMonitorLine(f *testing.F) {
	f.Add(`+1700000000.123456 [0 10.0.0.7:51234] "SET" "a b" "x\"] \\ \x00"`)
	f.Add(`1700000000.123456 [0 lua] "publish" "c" "\x"`)
	f.Fuzz(func(t *testing.T, line string) {
		m, ok := ParseMonitorLine(line)
		if ok && (len(m.Args) == 0 || m.Source == "") {
			t.Errorf("%+v", m)
		}
		for _, arg := range m.Args {
			if p := keyPattern(arg); strings.ContainsAny(p, "0123456789\n\r\x1b") {
				t.Errorf("%q gives %q", arg, p)
			}
		}
	})
}

func TestKeyPattern(t *testing.T) {
	for key, want := range map[string]string{
		"session:{4711}:state":                          "session:{*}:state",
		"u:0f8fad5b-d9cb-469f-a165-70867728950e:name":   "u:*:name",
		"cart:da39a3ee5e6b4b0d3255bfef95601890afd80709": "cart:*",
		"mail:jo.doe@example.com:seen":                  "mail:*:seen",
		"plain":                                         "plain",
		"bad\x1b[2Jé":                                   "bad?[*J?",
		strings.Repeat("x", 100):                        strings.Repeat("x", 80) + "…",
	} {
		assert.Equal(t, want, keyPattern(key))
	}
}

func TestParseMembers(t *testing.T) {
	all := parseMembers(`07c3 10.0.0.7:6379@16379 myself,master - 0 1426238317239 4 connected 0-5460
67ed 10.0.0.8:6379@16379,host-8 slave 07c3 0 1426238316232 2 connected
292f fd00::9:6379@16379 master - 0 1426238318243 3 connected 10923-16383
6ec2 10.0.0.9:6379 master,fail - 0 1426238316232 2 disconnected
824f :0@0 master,noaddr - 0 1426238316232 2 disconnected
short line
`)
	require.Len(t, all, 5)
	assert.Equal(t, member{id: "07c3", addr: "10.0.0.7:6379", myself: true}, all[0])
	assert.Equal(t, "07c3", all[1].primary)
	assert.Equal(t, "[fd00::9]:6379", all[2].addr)
	assert.Equal(t, "07c3 292f", primariesOf(all))
}
