package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// programEnv makes the test binary the program itself. The children that it starts
// are test binaries, too.
const programEnv = "UNWATCH_FLASHSALE_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" || os.Getenv(programEnv) != "" {
		os.Exit(mainCode(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// small is a config whose run takes half a second.
func small(t *testing.T, args ...string) config {
	t.Helper()
	var stderr bytes.Buffer
	cfg, _, ok := parseFlags(append([]string{"-processes", "2", "-workers", "2", "-stock", "20", "-timeout", "30s"}, args...), &stderr)
	require.True(t, ok, stderr.String())
	return cfg
}

// behind is a proxy to be reached by its address only, and a config that does. All
// keys begin with "test:".
func behind(t *testing.T, args ...string) (config, *proxytest.Proxy) {
	t.Helper()
	cfg := small(t, args...)
	p, err := proxytest.Start(proxytest.Config{Profile: cfg.profile})
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.Close() })
	cfg.proxy, cfg.prefix = p.Addr(), "test:"
	return cfg, p
}

// played runs the program and returns what it printed. No process is left behind.
func played(t *testing.T, ctx context.Context, cfg config) (code int, stdout, stderr string) { //nolint:revive // t comes first in tests
	t.Helper()
	var children family
	if cfg.started == nil {
		cfg.started = children.add
	}
	var out, errs bytes.Buffer
	code = run(ctx, cfg, &out, &errs)
	fits(t, out.String())
	assert.Empty(t, children.alive(t), "processes left behind")
	return code, out.String(), errs.String()
}

// family is the processes that a run has started.
type family struct {
	mu   sync.Mutex
	pids []int
}

func (f *family) add(pid int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pids = append(f.pids, pid)
}

func (f *family) all() []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.pids)
}

// alive returns those that still run.
func (f *family) alive(t *testing.T) []int {
	t.Helper()
	return slices.DeleteFunc(f.all(), func(pid int) bool {
		p, err := os.FindProcess(pid)
		return err != nil || p.Signal(syscall.Signal(0)) != nil
	})
}

// fits fails the test if a line is wider than a terminal, or coloured.
func fits(t *testing.T, text string) {
	t.Helper()
	assert.NotContains(t, text, "\x1b")
	for line := range strings.SplitSeq(text, "\n") {
		assert.LessOrEqual(t, utf8.RuneCountInString(line), width, "too wide: %s", line)
		assert.Equal(t, strings.TrimRight(line, " "), line, "spaces at the end")
	}
}

// unwrapped joins the lines of a text, so that a sentence can be looked for.
func unwrapped(text string) string { return strings.Join(strings.Fields(text), " ") }

func TestBothRounds(t *testing.T) {
	t.Parallel()
	ours := filepath.Join(t.TempDir(), "ours.yaml") // which each process has to read
	require.NoError(t, os.WriteFile(ours, []byte("name: ours\nbase: codis\nbackend: \"3.2\"\n"), 0o600))
	for profile, named := range map[string]string{"codis": "codis", "twemproxy": "twemproxy", "predixy": "predixy", "ours": ours} {
		t.Run(profile, func(t *testing.T) {
			code, out, errs := played(t, context.Background(), small(t, "-profile", named))
			require.Equal(t, exitOK, code, out+errs)
			assert.Empty(t, errs)
			assert.Contains(t, out, "The proxy ("+profile+") runs in this process")
			assert.Regexp(t, `NAIVE: GET, think, SET\n   sold +[234]\d of 20 items; OVERSOLD BY \d+\n`, out)
			assert.Regexp(t, `stored +\d+ orders, \d+ items left; \d+ SOLD ORDERS ARE MISSING\n`, out)
			_, out, _ = strings.Cut(out, "UNWATCH: ")
			assert.Regexp(t, `sold +20 of 20 items; no two saw the same stock, none below zero\n`, out)
			assert.Regexp(t, `stored +20 orders, 0 items left; every sold order, once\n`, out)
			assert.Contains(t, out, "no buyer has bought twice")
			assert.Regexp(t, `refused +\d+ sold out, \d+ bought before; nothing was written for them\n`, out)
			assert.Contains(t, unwrapped(out), "VERDICT: unwatch sold 20 of 20 items, each once, to as many buyers.")
		})
	}
}

// What is sent through the proxy in our round, and what stays there.
func TestOnAProxy(t *testing.T) {
	t.Parallel()
	cfg, p := behind(t, "-round", unwatchRound)
	require.NoError(t, p.Engine(0).Set("somebody", "else's"))
	code, out, errs := played(t, context.Background(), cfg)
	require.Equal(t, exitOK, code, out+errs)
	assert.Contains(t, unwrapped(out), "is at "+p.Addr()+". All keys begin with test: and expire.")
	assert.NotContains(t, out, "NAIVE")
	assert.Equal(t, []string{"somebody"}, p.Engine(0).Keys())
	for _, c := range p.Calls() {
		assert.Contains(t, []string{"PING", "SET", "DEL", "EVAL", "EVALSHA"}, c.Command())
		assert.NoError(t, cfg.profile.Check(c.Args...))
	}
}

func TestNaiveAlone(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"-processes", "1", "-workers", "2", "-stock", "10"},
		{"-processes", "2", "-workers", "1", "-stock", "10"},
		{"-processes", "4", "-workers", "16", "-stock", "10"},
	} {
		code, out, errs := played(t, context.Background(), small(t, append(args, "-round", naiveRound)...))
		assert.Equal(t, exitOK, code, out+errs)
		assert.Contains(t, out, "VERDICT: naive sold ")
		assert.NotContains(t, out, "UNWATCH")
	}
}

func TestNobodyThere(t *testing.T) {
	t.Parallel()
	cfg, p := behind(t)
	require.NoError(t, p.Close())
	began := time.Now()
	code, out, errs := played(t, context.Background(), cfg)
	assert.Equal(t, exitBroken, code)
	assert.Empty(t, out)
	assert.Contains(t, errs, "cannot reach the proxy at "+cfg.proxy+": ")
	assert.Contains(t, errs, "connection refused\nCheck that it runs")
	assert.Less(t, time.Since(began), 2*reachable)
}

// A proxy that takes the connection and says nothing.
func TestSilentProxy(t *testing.T) {
	t.Parallel()
	cfg, p := behind(t)
	p.Inject(proxytest.Fault{Command: "PING", Action: proxytest.HangRequest, Times: -1})
	code, _, errs := played(t, context.Background(), cfg)
	assert.Equal(t, exitBroken, code)
	assert.Contains(t, errs, "cannot reach the proxy at "+p.Addr())
}
