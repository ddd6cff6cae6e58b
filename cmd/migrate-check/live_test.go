package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/live"
	"github.com/unwatch/unwatch/internal/resp"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// serverUnder is a Redis 5 of one client, who sends so many WATCH between any two looks. It
// wants this password, if any.
func serverUnder(t *testing.T, watches int, password string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	var mu sync.Mutex
	stats := map[string]int{"watch": 10}
	answer := func(args []string) []byte {
		mu.Lock()
		defer mu.Unlock()
		name := strings.ToLower(args[0])
		defer func() { stats[name]++ }()
		switch strings.ToLower(strings.Join(args, " ")) {
		case "auth " + password:
			password = ""
		case "info":
			if password != "" {
				return resp.AppendError(nil, "NOAUTH Authentication required.")
			}
			return resp.AppendBulk(nil, "redis_version:5.0.14\r\nrun_id:abc\r\nrole:master\r\n")
		case "info commandstats":
			stats["watch"] += watches
			var text strings.Builder
			for name, calls := range stats {
				text.WriteString(fmt.Sprintf("cmdstat_%s:calls=%d,usec=1\r\n", name, calls))
			}
			return resp.AppendBulk(nil, text.String())
		case "client list":
			return resp.AppendBulk(nil, "id=1 addr=10.0.0.7:1 name=desk age=9 idle=0 flags=N multi=-1 cmd=watch\n")
		}
		return resp.AppendStatus(nil, "OK")
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				for br := bufio.NewReader(conn); ; {
					args, err := resp.ReadCommand(br, resp.Limits{})
					if err != nil {
						return
					}
					if _, err := conn.Write(answer(args)); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

// The exit code says the same in all formats.
func TestLiveExitCodes(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"text", "json", "prometheus"} {
		clean, under := serverUnder(t, 0, ""), serverUnder(t, 2, "")
		args := []string{"live", "-for", "250ms", "-every", "100ms", "-format", format}
		r := try(t.Context(), append(args, clean)...)
		assert.Equal(t, codeOK, r.code, r)
		assert.Empty(t, r.stderr)
		r = try(t.Context(), append(args, "redis://"+under+"/0")...)
		assert.Equal(t, codeFindings, r.code, r)
		assert.Contains(t, r.stdout, "MC101")
		if format == "text" {
			fits(t, r.stdout)
			assert.Contains(t, r.stdout, "desk at 10.0.0.7")
		}
		r = try(t.Context(), append(args, clean, "127.0.0.1:1")...)
		assert.Equal(t, codeIncomplete, r.code)
		assert.Empty(t, r.stdout)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r = try(ctx, append(args, under)...)
		assert.Equal(t, codeIncomplete, r.code, "Ctrl-C")
	}
}

func TestLivePassword(t *testing.T) {
	t.Setenv("UNWATCH_TEST_PASSWORD", "hunter2")
	for _, test := range []struct {
		args []string
		code int
	}{
		{nil, codeIncomplete},
		{[]string{"-password-env", "UNWATCH_TEST_PASSWORD"}, codeOK},
	} {
		addr := serverUnder(t, 0, "hunter2")
		r := try(t.Context(), append([]string{"live", "-for", "150ms", "-every", "100ms", addr}, test.args...)...)
		assert.Equal(t, test.code, r.code, r)
		assert.NotContains(t, r.stdout+r.stderr, "hunter2")
		assert.Equal(t, test.code != codeOK, strings.Contains(r.stderr, "-password-env VAR"))
	}
	r := try(t.Context(), "live", "-for", "150ms", "-every", "100ms", "-format", "json", "redis://:hunter2@"+serverUnder(t, 0, "hunter2"))
	assert.Equal(t, codeOK, r.code, r)
	assert.NotContains(t, r.stdout+r.stderr, "hunter2")
}

func TestLiveOutput(t *testing.T) {
	t.Parallel()
	addr := serverUnder(t, 1, "")
	dir := t.TempDir()
	file, with := filepath.Join(dir, "live.json"), filepath.Join(dir, "findings.json")
	require.NoError(t, os.WriteFile(with, []byte(`{"rule":"MC202"}`+"\n"), 0o600))
	args := []string{"live", addr, "-for", "150ms", "-every", "100ms", "-format", "json", "-o", file, "-with", with}
	r := try(t.Context(), args...)
	require.Equal(t, codeFindings, r.code, r)
	assert.Empty(t, r.stdout)
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var report live.Report
	require.NoError(t, json.Unmarshal(data, &report))
	assert.Equal(t, live.Findings, report.Verdict)
	assert.Contains(t, report.Findings[0].Remark, "another code base")
	assert.Equal(t, codeError, try(t.Context(), args...).code, "the file exists")
	assert.Equal(t, codeFindings, try(t.Context(), append(args, "-f")...).code)
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	require.NoError(t, err)
	assert.Empty(t, left)
}

// What stands in front of servers does not count, and says so.
func TestLiveOfAProxy(t *testing.T) {
	t.Parallel()
	proxy := start(t, proxytest.Config{})
	r := try(t.Context(), "live", proxy.Addr(), "-for", "150ms", "-every", "100ms")
	assert.Equal(t, codeIncomplete, r.code)
	assert.Contains(t, unwrapped(r.stderr), "ask the servers behind it")
	fits(t, r.stderr)
}
