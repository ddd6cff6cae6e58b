package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat"
)

// Every proxy that proxycompat knows can be named, or described in a file. Those on which no
// script runs are refused at once.
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
		{"no process", []string{"-processes", "0"}, exitUsage, "-processes is 0; use 1 to 16"},
		{"too many processes", []string{"-processes", "17"}, exitUsage, "-processes is 17; use 1 to 16"},
		{"no worker", []string{"-workers", "0"}, exitUsage, "-workers is 0; use 1 to 64"},
		{"too many workers", []string{"-workers", "65"}, exitUsage, "-workers is 65; use 1 to 64"},
		{"nobody to race with", []string{"-processes", "1", "-workers", "1"}, exitUsage, "raise -processes or -workers"},
		{"small stock", []string{"-stock", "9"}, exitUsage, "-stock is 9; use 10 to 2000"},
		{"stock in words", []string{"-stock", "many"}, exitUsage, "invalid value"},
		{"unknown round", []string{"-round", "third"}, exitUsage, `-round is "third"; use naive, unwatch or both`},
		{"no time", []string{"-timeout", "0s"}, exitUsage, "-timeout is 0s; use 1s or more"},
		{"proxy without port", []string{"-proxy", "h"}, exitUsage, `-proxy is "h"; use HOST:PORT`},
		{"proxy as URL", []string{"-proxy", "redis://h:1"}, exitUsage, "use HOST:PORT"},
		{"unknown flag", []string{"-x"}, exitUsage, "not defined: -x"},
		{"argument", []string{"500"}, exitUsage, `unexpected "500"; all settings are flags`},
		{"help", []string{"-help"}, exitOK, "-stock"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var stderr bytes.Buffer
			_, code, ok := parseFlags(tt.args, &stderr)
			assert.False(t, ok)
			assert.Equal(t, tt.code, code)
			assert.Contains(t, stderr.String(), tt.want)
		})
	}
	t.Run("none", func(t *testing.T) {
		var stderr bytes.Buffer
		cfg, _, ok := parseFlags(nil, &stderr)
		require.True(t, ok, stderr.String())
		assert.Equal(t, []string{naiveRound, unwatchRound}, cfg.rounds)
		assert.Equal(t, "codis", cfg.profile.Name())
		assert.Empty(t, cfg.proxy)
	})
	t.Run("all", func(t *testing.T) {
		var stderr bytes.Buffer
		cfg, _, ok := parseFlags([]string{
			"-processes", "6", "-workers", "4", "-stock", "100", "-proxy", "h:1", "-profile", "Twemproxy",
			"-seed", "7", "-round", "unwatch", "-timeout", "5s",
		}, &stderr)
		require.True(t, ok, stderr.String())
		assert.Equal(t, "twemproxy", cfg.profile.Name())
		cfg.profile = nil
		assert.Equal(t, config{
			processes: 6, workers: 4, stock: 100, proxy: "h:1", named: "Twemproxy", seed: 7,
			rounds: []string{unwatchRound}, timeout: 5 * time.Second,
		}, cfg)
	})
}
