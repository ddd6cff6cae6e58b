package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// programEnv makes the test binary the program. The processes that it starts are test
// binaries, too.
const programEnv = "UNWATCH_FLASHSALE_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(jobEnv) != "" || os.Getenv(programEnv) != "" {
		os.Exit(realMain())
	}
	os.Exit(m.Run())
}

// small parses the flags of a sale that takes half a second.
func small(t *testing.T, args ...string) config {
	t.Helper()
	cfg, err := parseFlags(append([]string{"-processes", "2", "-workers", "2", "-stock", "20"}, args...))
	require.NoError(t, err)
	return cfg
}

// behind starts a proxy, and returns a config for it with the key prefix "test:".
func behind(t *testing.T, args ...string) (config, *proxytest.Proxy) {
	t.Helper()
	cfg := small(t, args...)
	p, err := proxytest.Start(proxytest.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.Close() })
	cfg.proxy, cfg.prefix = p.Addr(), "test:"
	return cfg, p
}

// played runs the program.
func played(ctx context.Context, cfg config) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(ctx, cfg, &out, &errs)
	return code, out.String(), errs.String()
}

// figures returns the numbers of a row: of GET and SET, and of lockupdate.
func figures(t *testing.T, out, row string) []string {
	t.Helper()
	found := regexp.MustCompile(regexp.QuoteMeta(row) + ` +(-?\d+) +(-?\d+)\n`).FindStringSubmatch(out)
	require.NotNil(t, found, "%s: %s", row, out)
	return found[1:]
}

func TestBothRounds(t *testing.T) {
	t.Parallel()
	ours := filepath.Join(t.TempDir(), "ours.yaml") // each process reads it
	require.NoError(t, os.WriteFile(ours, []byte("name: ours\nbase: codis\nbackend: \"3.2\"\n"), 0o600))
	for _, profile := range []string{"codis", "twemproxy", "predixy", ours} {
		t.Run(profile, func(t *testing.T) {
			code, out, errs := played(t.Context(), small(t, "-profile", profile))
			require.Equal(t, 0, code, out+errs)
			assert.Empty(t, errs)
			assert.NotEqual(t, "0", figures(t, out, faults[oversold])[0])
			assert.NotEqual(t, "0", figures(t, out, faults[lost])[0])
			assert.Equal(t, "20", figures(t, out, `orders told "sold"`)[1])
			for _, fault := range faults {
				assert.Equal(t, "0", figures(t, out, fault)[1], fault)
			}
			assert.Contains(t, out, "lockupdate sold 20 items, each once.")
		})
	}
}

// Only keys with the prefix are written, they are deleted, and the profile permits each command.
func TestOnAProxy(t *testing.T) {
	t.Parallel()
	cfg, p := behind(t)
	require.NoError(t, p.Engine(0).Set("another", "value"))
	code, out, errs := played(t.Context(), cfg)
	require.Equal(t, 0, code, out+errs)
	assert.Equal(t, []string{"another"}, p.Engine(0).Keys())
	for _, c := range p.Calls() {
		assert.NoError(t, proxycompat.Codis32().Check(c.Args...))
	}
}

// isCommit matches the command that writes the sale in the second round: a script with more
// arguments than a read has.
func isCommit(args []string) bool { return len(args) > 5 && args[3] == "test:"+unwatchRound }

// The negative control of the whole program: a server that forgets a write after it
// acknowledged it.
func TestBrokenPromiseIsReported(t *testing.T) {
	t.Parallel()
	cfg, p := behind(t)
	p.Inject(proxytest.Fault{
		Command: "EVALSHA", Match: isCommit, Skip: 3, Action: proxytest.DelayReply,
		Do: func() { // after the commit and before its reply
			var s sale
			raw, err := p.Engine(0).Get("test:" + unwatchRound)
			if assert.NoError(t, err) && assert.NoError(t, json.Unmarshal([]byte(raw), &s)) && assert.NotEmpty(t, s.Orders) {
				s.Left++
				s.Orders = s.Orders[:len(s.Orders)-1]
				forgotten, _ := json.Marshal(s)
				assert.NoError(t, p.Engine(0).Set("test:"+unwatchRound, string(forgotten)))
			}
		},
	})
	code, out, errs := played(t.Context(), cfg)
	assert.Equal(t, 1, code, out+errs)
	assert.Contains(t, out, "lockupdate broke a promise.")
	for _, fault := range []int{oversold, lost, sameLeft} {
		assert.Equal(t, "1", figures(t, out, faults[fault])[1], faults[fault])
	}
}

// A negative control that makes no mistake fails the run.
func TestRunWithoutAMistakeFails(t *testing.T) {
	r := result{answers: map[answer]int{}, waits: []time.Duration{1}, took: 1}
	var out bytes.Buffer
	assert.Equal(t, 1, show(&out, config{}, r, r))
	assert.Contains(t, out.String(), "this run shows nothing")
}

// Ctrl-C in either round leaves no key and no lock.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]proxytest.Fault{
		"naive":   {Command: "SET", Skip: 10},
		"unwatch": {Command: "EVALSHA", Match: isCommit, Skip: 5},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, p := behind(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			fault.Do = cancel
			p.Inject(fault)
			code, out, errs := played(ctx, cfg)
			assert.Equal(t, 130, code)
			assert.Empty(t, out)
			assert.Equal(t, "flashsale: interrupted\n", errs)
			assert.Empty(t, p.Engine(0).Keys())
		})
	}
}

// The same by a signal to the program.
func TestSignal(t *testing.T) {
	t.Parallel()
	_, p := behind(t)
	program, err := os.Executable()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "-proxy", p.Addr(), "-processes", "2", "-workers", "2")
	cmd.Env = append(os.Environ(), programEnv+"=1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	selling := make(chan struct{})
	p.Inject(proxytest.Fault{Command: "EVALSHA", Skip: 60, Do: func() { close(selling) }})
	require.NoError(t, cmd.Start())
	select {
	case <-selling:
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
	case <-ctx.Done():
	}
	err = cmd.Wait()
	require.Equal(t, 130, cmd.ProcessState.ExitCode(), "%v\n%s", err, out.String())
	assert.Equal(t, "flashsale: interrupted\n", out.String())
	assert.Empty(t, p.Engine(0).Keys())
}

// A proxy that refuses a command ends the sale with its error.
func TestRefusedCommand(t *testing.T) {
	t.Parallel()
	cfg, p := behind(t)
	p.Inject(proxytest.Fault{Command: "GET", Skip: 8, Action: proxytest.RefuseWith, Text: "ERR out of order", Times: -1})
	code, out, errs := played(t.Context(), cfg)
	assert.Equal(t, 1, code, out)
	assert.Regexp(t, `^flashsale: round naive: process [12]: exit status 1: .*ERR out of order\n$`, errs)
	assert.Empty(t, p.Engine(0).Keys())
}

func TestNoProxy(t *testing.T) {
	t.Parallel()
	cfg, _ := behind(t)
	cfg.proxy = "127.0.0.1:1" // a port that no program listens on
	code, out, errs := played(t.Context(), cfg)
	assert.Equal(t, 1, code)
	assert.Empty(t, out)
	assert.Contains(t, errs, "cannot reach the proxy at "+cfg.proxy+": ")
}

// A selling process refuses a broken job, and ends with its stdin: before the sale begins and during it.
func TestServeEnds(t *testing.T) {
	for _, text := range []string{"nonsense", "{}", `{"Profile":"redis"}`} {
		assert.Error(t, serve(text, strings.NewReader(""), &bytes.Buffer{}), text)
	}
	_, p := behind(t)
	require.NoError(t, p.Engine(0).Set("test:sale", `{"left":10}`))
	text, err := json.Marshal(job{crowd{10, 2, 2}, unwatchRound, 0, p.Addr(), "codis", "test:sale"})
	require.NoError(t, err)
	assert.NoError(t, serve(string(text), strings.NewReader(""), &bytes.Buffer{}), "two workers of another process are missing")
	assert.NotContains(t, p.Engine(0).Keys(), "test:sale:lock")
}

// Every profile of proxycompat can be named. A profile without scripts is refused.
func TestProfiles(t *testing.T) {
	unusable := map[string]string{
		"redis": "is a server", "cluster": "is a server", "pika": "EVALSHA is refused", "redis-cluster-proxy": "EVALSHA is refused",
	}
	for _, name := range append(proxycompat.Names(), "codis@3.2") {
		_, err := parseFlags([]string{"-profile", name})
		if want, isUnusable := unusable[name]; isUnusable {
			assert.ErrorContains(t, err, want)
			continue
		}
		assert.NoError(t, err)
	}
}

func TestFlags(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"-profile dynomite", `no profile named "dynomite"`},
		{"-profile none.yaml", "open none.yaml: no such file"},
		{"-processes 0", "-processes is 0; use 1 to 16"},
		{"-workers 1", "-workers is 1; use 2 to 64"},
		{"-stock 9", "-stock is 9; use 10 to 1000"},
		{"500", "number of arguments is 1"},
	} {
		_, err := parseFlags(strings.Fields(tt.args))
		assert.ErrorContains(t, err, tt.want)
	}
}
