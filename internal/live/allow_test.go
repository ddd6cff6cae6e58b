package live

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/resp"
	"github.com/unwatch/unwatch/proxycompat"
)

// sink is a connection that keeps all written bytes.
type sink struct {
	net.Conn
	got []byte
}

func (s *sink) Write(p []byte) (int, error) {
	s.got = append(s.got, p...)
	return len(p), nil
}

func TestGuardSendsAllowedCommandsOnly(t *testing.T) {
	for _, ok := range [][]string{
		{"AUTH", "pw"}, {"auth", "user", "pw"}, {"INFO"}, {"info", "commandstats"}, {"CLIENT", "LIST"},
		{"CLIENT", "SETNAME", ownName + "x"},
		{"ACL", "LOG", "1000"}, {"ACL", "WHOAMI"}, {"CLUSTER", "NODES"}, {"MONITOR"},
		{"SENTINEL", "get-master-addr-by-name", "main"},
	} {
		var s sink
		bytes := resp.AppendCommand(nil, ok...)
		_, err := guard{&s}.Write(bytes)
		require.NoError(t, err, ok)
		assert.Equal(t, bytes, s.got)
	}
	for _, no := range [][]string{
		{"SET", "k", "v"}, {"GET", "k"}, {"KEYS", "*"}, {"SCAN", "0"}, {"ACL", "LOG", "RESET"}, {"ACL", "LOG", "-1"},
		{"ACL", "SETUSER", "x"},
		{"CONFIG", "RESETSTAT"}, {"CONFIG", "GET", "*"}, {"CLIENT", "KILL", "TYPE", "normal"}, {"CLIENT", "LIST", "TYPE", "normal"},
		{"CLIENT", "SETNAME", "desk"}, {"CLUSTER", "RESET"}, {"DEBUG", "SLEEP", "1"}, {"INFO", "all"}, {"MONITOR", "x"}, {"AUTH"},
		{"SENTINEL", "FAILOVER", "main"}, {"SENTINEL", "RESET", "*"}, {"SENTINEL", "GET-MASTER-ADDR-BY-NAME"},
		{"HELLO", "3"}, {"SELECT", "1"}, {"WATCH", "k"}, {"EVAL", "return 1", "0"}, {"QUIT"},
	} {
		var s sink
		_, err := guard{&s}.Write(resp.AppendCommand(nil, no...))
		require.ErrorIs(t, err, ErrNotAllowed, no)
		assert.Empty(t, s.got, no)

		// Nor does it after an allowed command, in parts, or inline.
		both := resp.AppendCommand(resp.AppendCommand(nil, "INFO"), no...)
		for _, bytes := range [][]byte{both, both[:len(both)-3], []byte(strings.Join(no, " ") + "\r\n")} {
			_, err = guard{&s}.Write(bytes)
			require.ErrorIs(t, err, ErrNotAllowed, no)
			assert.Empty(t, s.got, no)
		}
	}
}

// No other command of Redis gets through, with any words.
func TestGuardRefusesEveryOtherCommand(t *testing.T) {
	passed := map[string]bool{}
	for _, c := range proxycompat.Commands() {
		name := strings.Fields(c.Name)
		for _, more := range [][]string{nil, {"x"}, {"1"}, {"x", "y"}, {"1", "k"}, {"RESET"}, {"x", "1", "k"}} {
			if allowed(append(append([]string{}, name...), more...)) {
				passed[c.Name] = true
				assert.False(t, c.Writes(), c.Name)
				assert.Empty(t, c.Keys(append(append([]string{}, name...), more...)), c.Name)
			}
		}
	}
	assert.Equal(t, map[string]bool{
		"AUTH": true, "INFO": true, "MONITOR": true, "CLIENT LIST": true, "ACL LOG": true, "ACL WHOAMI": true, "CLUSTER NODES": true,
	}, passed)
}

// Only one function opens connections, and it wraps them in the guard before the first write.
func TestOneFunctionOpensConnections(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, word := range []string{".Dial(", ".DialContext(", "tls.Dial", "net.Dial(", "net.DialTimeout(", "tls.Client(",
			".Open(", "resp.NewConn(", "resp.NewConn(guard{", "guard{"} {
			want := 0
			if file == "wire.go" && slices.Contains([]string{".Open(", "resp.NewConn(", "resp.NewConn(guard{", "guard{"}, word) {
				want = 1
			}
			assert.Equal(t, want, strings.Count(string(source), word), "%s in %s", word, file)
		}
		if file != "wire.go" && file != "allow.go" {
			assert.NotContains(t, string(source), "conn.Write(", file)
		}
		for _, client := range []string{"go-redis", "rueidis", "redigo", "valkey-go"} {
			assert.NotContains(t, string(source), client+"/", "%s: a client sends a handshake of its own", file)
		}
	}
}

func TestParseAddress(t *testing.T) {
	for word, want := range map[string]Address{
		"h:1":                           {Host: "h:1"},
		"[::1]:6379":                    {Host: "[::1]:6379"},
		"redis://h":                     {Host: "h:6379"},
		"redis://h:1/3":                 {Host: "h:1", DB: 3},
		"redis://h:1/":                  {Host: "h:1"},
		"rediss://h?db=4":               {Host: "h:6379", DB: 4, TLS: true},
		"sentinel://s/main/5":           {Sentinels: []string{"s:26379"}, Primary: "main", DB: 5},
		"rediss://u:p%40ss@h:1":         {Host: "h:1", Username: "u", Password: "p@ss", TLS: true},
		"REDIS://:hunter2@[::1]:6379/0": {Host: "[::1]:6379", Password: "hunter2"},
		"redis://[::1]":                 {Host: "[::1]:6379"},
		"/run/redis.sock":               {Host: "/run/redis.sock"},
		"unix:///run/redis.sock?db=1":   {Host: "/run/redis.sock", DB: 1},
		"unix://u:hunter2@/run/r.sock":  {Host: "/run/r.sock", Username: "u", Password: "hunter2"},
		"sentinel://s/main":             {Sentinels: []string{"s:26379"}, Primary: "main"},
		"sentinel://:hunter2@s:1,[::1],t:2/main": {
			Sentinels: []string{"s:1", "[::1]:26379", "t:2"}, Primary: "main", Password: "hunter2"},
	} {
		got, err := ParseAddress(word)
		require.NoError(t, err, word)
		assert.Equal(t, want, got)
		assert.NotContains(t, got.GoString()+got.String(), "hunter2")
	}
	for _, word := range []string{
		"h", "h:0", "h:x", ":1", "", "u:hunter2@h:1", "http://u:hunter2@h:1", "redis://u:hunter2 @h", "redis://u:hunter2/x@h:1",
		"sentinel://u:hunter2@s:1", "sentinel://u:hunter2@/main", "sentinel://u:hunter2@s:x,/main", "unix://u:hunter2@h/x", "unix:///",
		"redis://h:1/x", "redis://h:1/-1", "redis://h:1/1/2", "redis://h:1/1?db=2", "redis://h:1?db=", "redis://h:1?db=1&db=2",
		"redis://h:1#1",
		"redis://h:1?hunter2", "redis://h:1/0?protocol=3", "unix:///p?password=hunter2", "sentinel://s:1/main?x=hunter2",
		"sentinel://s:1/main/hunter2",
		"redis://h:1/hunter2", "redis://h:1?db=hunter2", "redis://u:hunter2%zz@h:1", "redis://u@h:1", "redis://",
		// A password that begins with digits looks like a port.
		"redis://u:1234/hunter2@h", "redis://:1234/hunter2@h:1", "redis://u:1234#hunter2@h", "redis://:1234?hunter2@h",
	} {
		_, err := ParseAddress(word)
		require.Error(t, err, word)
		assert.NotContains(t, err.Error(), "hunter2", word)
		assert.NotContains(t, err.Error(), "1234", word)
	}
}
