package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFlags(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		code int
		want string // on stderr
	}{
		{"unknown profile", []string{"-profile", "envoy"}, exitUsage, `unknown profile "envoy"; use codis or twemproxy`},
		{"no proxy at all", []string{"-profile", "redis"}, exitUsage, "use codis or twemproxy"},
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
			processes: 6, workers: 4, stock: 100, proxy: "h:1", seed: 7, rounds: []string{unwatchRound}, timeout: 5 * time.Second,
		}, cfg)
	})
}
