package main

import (
	"bytes"
	"context"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/wrap"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// small returns a config for a short run of these acts.
func small(t *testing.T, profile, acts string) config {
	t.Helper()
	p, err := proxycompat.Lookup(profile)
	require.NoError(t, err)
	return config{profile: p, acts: acts, events: 600, sample: 100}
}

// servers starts a Redis and a proxy that are reached by address, like real servers.
func servers(t *testing.T, profile, acts string) (cfg config, legacy, proxy *proxytest.Proxy) {
	t.Helper()
	cfg = small(t, profile, acts)
	start := func(p *proxycompat.Profile) *proxytest.Proxy {
		proxy, err := proxytest.Start(proxytest.Config{Profile: p})
		require.NoError(t, err)
		t.Cleanup(func() { _ = proxy.Close() })
		return proxy
	}
	legacy, proxy = start(proxycompat.Redis()), start(cfg.profile)
	cfg.legacy, cfg.proxy = "redis://"+legacy.Addr(), proxy.Addr()
	return cfg, legacy, proxy
}

// played runs the program and returns its output. Of the standard error it leaves out the progress.
func played(t *testing.T, ctx context.Context, cfg config) (code int, stdout, stderr string) { //nolint:revive // t comes first in tests
	t.Helper()
	var out, errs bytes.Buffer
	code = play(ctx, cfg, &out, &errs)
	fits(t, out.String())
	return code, out.String(), regexp.MustCompile(`(?m)^ .*\n`).ReplaceAllString(errs.String(), "")
}

// opened returns a rehearsal whose acts can be played one by one, and its output.
func opened(t *testing.T, cfg config) (*rehearsal, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	r := &rehearsal{cfg: cfg, stdout: &out, stderr: &out}
	require.NoError(t, r.open(t.Context()))
	t.Cleanup(func() { assert.NoError(t, r.stage.close()) })
	return r, &out
}

// fits requires that no line exceeds the width of a terminal.
func fits(t *testing.T, text string) {
	t.Helper()
	for line := range strings.SplitSeq(regexp.MustCompile("\x1b\\[[0-9;]*[mK]").ReplaceAllString(text, ""), "\n") {
		assert.LessOrEqual(t, utf8.RuneCountInString(line), wrap.Width, "too wide: %s", line)
		assert.Equal(t, strings.TrimRight(line, " "), line, "spaces at the end")
	}
}

// unwrapped joins the lines of a text, so that a test can search for a sentence.
func unwrapped(text string) string {
	return text + regexp.MustCompile(`\n +`).ReplaceAllString(text, " ") + strings.ReplaceAll(text, "\n", " ")
}

// leftBehind returns the stacks of remaining goroutines of this project or of the client, except
// tests.
func leftBehind() string {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	var out []string
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		if (strings.Contains(stack, "unwatch/") || strings.Contains(stack, "go-redis")) && !strings.Contains(stack, "testing.tRunner") &&
			!strings.Contains(stack, "leftBehind") {
			out = append(out, stack)
		}
	}
	return strings.Join(out, "\n\n")
}
