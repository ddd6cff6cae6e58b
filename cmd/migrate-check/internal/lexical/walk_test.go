package lexical_test

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/lexical"
	"github.com/unwatch/unwatch/internal/rules"
	"github.com/unwatch/unwatch/proxycompat"
)

const publishes = "import redis\nr = redis.Redis()\nr.publish('a', 'b')\n"

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

func walk(ctx context.Context, langs lexical.Languages) (lexical.Result, error) {
	return lexical.Walk(ctx, tree(), proxycompat.Codis32(), langs)
}

func tree() fstest.MapFS {
	return fstest.MapFS{
		"b/app.py":               file(publishes),
		"a.py":                   file(publishes),
		"a.rb":                   file("require 'redis'\nRedis.new.publish('a', 'b')\n"),
		"README.md":              file("redis.publish('a')"),
		"node_modules/x/i.js":    file("require('redis').createClient().publish('a')"),
		"svc/vendor/x.php":       file("<?php (new Redis)->publish('a', 'b');"),
		"web/app.min.js":         file("x"),
		"web/bundle.js":          file(strings.Repeat("x", 20_000)),
		"large.py":               file(publishes + strings.Repeat("# nothing\n", 300_000)),
		"binary.py":              file("\x00\x01"),
		"app.rs":                 file("use redis::Commands;"),
		"none.rs":                file("// Redistribution and use"),
		".git/hooks/pre-push.py": file(publishes),
	}
}

func TestWalk(t *testing.T) {
	r, err := walk(t.Context(), lexical.All())
	require.NoError(t, err)
	var places []string
	for _, f := range r.Findings {
		assert.Equal(t, "MC202", f.Rule)
		assert.Equal(t, finding.Low, f.Confidence)
		assert.Equal(t, rules.Warning, f.Severity)
		assert.NotEmpty(t, f.Advice)
		places = append(places, f.Path)
	}
	assert.Equal(t, []string{"a.py", "a.rb", "b/app.py"}, places)
	assert.Equal(t, []finding.Unseen{
		{Path: "node_modules", Reason: "dependencies"}, {Path: "svc/vendor", Reason: "dependencies"},
		{Path: "web/app.min.js", Reason: "minified"}, {Path: "web/bundle.js", Reason: "minified"},
	}, r.Skipped)
	assert.Equal(t, []finding.Unseen{
		{Path: "app.rs", Reason: "Rust is not searched, and the file names Redis: migrate-check live counts its commands on a server"},
		{Path: "binary.py", Reason: "not text, which is not searched"},
		{Path: "large.py", Reason: "larger than 2 MiB, which is not searched"},
	}, r.Unread)
}

func TestWalkIsAlwaysTheSame(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	first, err := walk(t.Context(), lexical.All())
	require.NoError(t, err)
	runtime.GOMAXPROCS(8)
	for range 5 {
		again, err := walk(t.Context(), lexical.All())
		require.NoError(t, err)
		assert.Equal(t, first, again)
	}
}

func TestWalkOfSomeLanguages(t *testing.T) {
	langs, err := lexical.ParseLanguages("py, lua")
	require.NoError(t, err)
	r, err := walk(t.Context(), langs)
	require.NoError(t, err)
	require.Len(t, r.Findings, 2)
	assert.Equal(t, "a.py", r.Findings[0].Path)
	assert.Equal(t, "b/app.py", r.Findings[1].Path)
}

func TestWalkEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r, err := walk(ctx, lexical.All())
	require.ErrorIs(t, err, context.Canceled)
	assert.Empty(t, r.Findings)
}

func TestMessage(t *testing.T) {
	src := "import redis\n\nclass A:\n    def take(self, r: redis.Redis):\n        pipe = r.pipeline()\n" +
		"        pipe.watch('k')\n        pipe.multi()\n        pipe.execute()\n"
	found := lexical.Scan(proxycompat.Codis32(), "a.py", []byte(src))
	require.Len(t, found, 3)
	assert.Equal(t, "MULTI and EXEC through r.pipeline; the proxy refuses them (MC102)", found[0].Message)
	assert.Equal(t, "WATCH through pipe.watch; the proxy refuses it (MC101)", found[1].Message)
	assert.Equal(t, "MULTI and EXEC through pipe.multi; the proxy refuses them (MC102)", found[2].Message)
	assert.Equal(t, "A.take", found[0].Func)
}
