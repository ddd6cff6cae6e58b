package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat"
)

// Every profile of proxycompat can be named, or read from a file. Profiles without scripts are
// refused at once.
func TestProfiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ours.yaml")
	require.NoError(t, os.WriteFile(file, []byte("name: ours\nbase: codis\nbackend: \"3.2\"\n"), 0o600))
	unusable := map[string]string{
		"redis": "is a server", "cluster": "is a server",
		"pika": "EVALSHA is refused", "redis-cluster-proxy": "EVALSHA is refused",
	}
	for _, name := range append(proxycompat.Names(), "codis@3.2", file) {
		var stderr bytes.Buffer
		cfg, code, ok := parseFlags([]string{"-profile", name}, &stderr)
		if want, isUnusable := unusable[name]; isUnusable {
			assert.Equal(t, exitUsage, code, name)
			assert.Contains(t, stderr.String(), "-profile "+name)
			assert.Contains(t, stderr.String(), want)
			continue
		}
		require.True(t, ok, stderr.String())
		if name == file {
			name = "ours"
		}
		assert.Equal(t, name, cfg.profile.Name())
	}
}

func TestFlags(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		code int
		want string // on stderr
	}{
		{"unknown profile", []string{"-profile", "dynomite"}, exitUsage, "no profile named \"dynomite\", known are alibaba, camellia"},
		{"no proxy at all", []string{"-profile", "redis@7.0"}, exitUsage, "-profile redis@7.0 is a server without a proxy"},
		{"no profile file", []string{"-profile", "none.yaml"}, exitUsage, "open none.yaml: no such file"},
		{"legacy alone", []string{"-legacy", "redis://h:1"}, exitUsage, "-legacy and -proxy belong together"},
		{"proxy alone", []string{"-proxy", "h:1"}, exitUsage, "-legacy and -proxy belong together"},
		{"proxy without port", []string{"-legacy", "redis://h:1", "-proxy", "h"}, exitUsage, `-proxy is "h"; use HOST:PORT`},
		{"proxy as URL", []string{"-legacy", "redis://h:1", "-proxy", "redis://h:1"}, exitUsage, "use HOST:PORT"},
		{"too few events", []string{"-events", "499"}, exitUsage, "-events is 499; use 500 to 24000"},
		{"too many events", []string{"-events", "24001"}, exitUsage, "-events is 24001; use 500 to 24000"},
		{"events in words", []string{"-events", "many"}, exitUsage, "invalid value"},
		{"unknown flag", []string{"-metrics", "127.0.0.1:0"}, exitUsage, "not defined: -metrics"},
		{"argument", []string{"events.jsonl"}, exitUsage, `unexpected "events.jsonl"`},
		{"help", []string{"-help"}, exitOK, "-events EVENTS"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var stderr bytes.Buffer
			_, code, ok := parseFlags(tt.args, &stderr)
			assert.False(t, ok)
			assert.Equal(t, tt.code, code)
			assert.Contains(t, stderr.String(), tt.want)
		})
	}
	t.Run("good", func(t *testing.T) {
		var stderr bytes.Buffer
		cfg, _, ok := parseFlags([]string{"-profile", "Twemproxy", "-legacy", "redis://h:1", "-proxy", "h:1"}, &stderr)
		require.True(t, ok, stderr.String())
		assert.Equal(t, "twemproxy", cfg.profile.Name())
		assert.Equal(t, maxEvents, cfg.events, "real servers are fast")
	})
}

func TestBadLegacyURL(t *testing.T) {
	cfg, _, _ := servers(t, "codis", "")
	cfg.legacy = "http://user:secret@127.0.0.1:1"
	code, _, errs := played(t, t.Context(), cfg)
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, errs, "-legacy")
	assert.NotContains(t, errs, "secret")
}
