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

	"github.com/unwatch/unwatch/examples/rehearsal/internal/events"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// small returns a config for a run of a second or two.
func small(t *testing.T, profile string) config {
	t.Helper()
	p, err := proxycompat.Lookup(profile)
	require.NoError(t, err)
	return config{profile: p, seed: 1, writers: 8, limit: 400, sample: 300, noShadow: underRace}
}

// played runs the program and returns its output.
func played(t *testing.T, ctx context.Context, cfg config) (code int, stdout, stderr string) { //nolint:revive // t comes first in tests
	t.Helper()
	var out, errs bytes.Buffer
	code = run(ctx, cfg, &out, &errs)
	fits(t, out.String())
	return code, out.String(), errs.String()
}

// fits requires that no line exceeds the width of a terminal.
func fits(t *testing.T, text string) {
	t.Helper()
	for line := range strings.SplitSeq(colours.ReplaceAllString(text, ""), "\n") {
		assert.LessOrEqual(t, utf8.RuneCountInString(line), width, "too wide: %s", line)
		assert.Equal(t, strings.TrimRight(line, " "), line, "spaces at the end")
	}
}

var colours = regexp.MustCompile("\x1b\\[[0-9;]*[mK]")

// servers starts a Redis and a proxy that are reached by address, like real servers.
func servers(t *testing.T, profile string) (cfg config, legacy, proxy *proxytest.Proxy) {
	t.Helper()
	cfg = small(t, profile)
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

// streamOf returns a stream of one post per member in one room.
func streamOf(room string, members ...string) []numbered {
	var out []events.Event
	for _, m := range members {
		out = append(out, events.Event{Room: room, Op: "post", Member: m})
	}
	return number(out)
}
