package main

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

func played(t *testing.T, inject func(*proxytest.Proxy)) (out string, err error) {
	t.Helper()
	p, err := proxytest.Start(proxytest.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	inject(p)
	var text bytes.Buffer
	err = run(t.Context(), size{20, 2, 2}, p, &text)
	return text.String(), err
}

// row returns the numbers of a row: of GET and SET, and of lockupdate.
func row(t *testing.T, out string, figure int) []string {
	t.Helper()
	found := regexp.MustCompile(regexp.QuoteMeta(names[figure]) + ` +(-?\d+) +(-?\d+)\n`).FindStringSubmatch(out)
	require.NotNil(t, found, "%s: %s", names[figure], out)
	return found[1:]
}

func TestBothRounds(t *testing.T) {
	t.Parallel()
	out, err := played(t, func(*proxytest.Proxy) {})
	require.NoError(t, err)
	assert.NotEqual(t, "0", row(t, out, oversold)[0])
	assert.NotEqual(t, "0", row(t, out, lost)[0])
	assert.Equal(t, "20", row(t, out, toldSold)[1])
	for figure := oversold; figure < len(names); figure++ {
		assert.Equal(t, "0", row(t, out, figure)[1], names[figure])
	}
	assert.Contains(t, out, "lockupdate sold 20 items, each once.")
	for line := range strings.Lines(out) {
		assert.LessOrEqual(t, len(line), 100, line)
	}
}

// isCommit matches the command that writes the sale in the second round: a script with more
// arguments than a read has.
func isCommit(args []string) bool { return len(args) > 5 && args[3] == key }

// forget removes the last order from the stored sale.
func forget(t *testing.T, p *proxytest.Proxy) {
	var s sale
	raw, err := p.Engine(0).Get(key)
	if assert.NoError(t, err) && assert.NoError(t, json.Unmarshal([]byte(raw), &s)) && assert.NotEmpty(t, s.Orders) {
		s.Left++
		s.Orders = s.Orders[:len(s.Orders)-1]
		forgotten, _ := json.Marshal(s)
		assert.NoError(t, p.Engine(0).Set(key, string(forgotten)))
	}
}

// The negative control of the whole program: a server that forgets a write after it
// acknowledged it.
func TestBrokenPromiseIsReported(t *testing.T) {
	t.Parallel()
	out, err := played(t, func(p *proxytest.Proxy) {
		p.Inject(proxytest.Fault{ // after the commit and before its reply
			Command: "EVALSHA", Match: isCommit, Skip: 3, Action: proxytest.DelayReply, Do: func() { forget(t, p) },
		})
	})
	require.EqualError(t, err, "lockupdate broke a promise")
	for _, fault := range []int{oversold, lost, sameLeft} {
		assert.Equal(t, "1", row(t, out, fault)[1], names[fault])
	}
}

// A negative control that makes no mistake fails the run.
func TestRunWithoutAMistakeFails(t *testing.T) {
	var out bytes.Buffer
	err := show(&out, size{}, figures{toldSold: 1}, figures{toldSold: 1})
	assert.ErrorContains(t, err, "this run shows nothing")
}

// A proxy that refuses a command ends the sale with its error.
func TestRefusedCommand(t *testing.T) {
	t.Parallel()
	out, err := played(t, func(p *proxytest.Proxy) {
		p.Inject(proxytest.Fault{Command: "GET", Skip: 8, Action: proxytest.RefuseWith, Text: "ERR out of order", Times: -1})
	})
	assert.Empty(t, out)
	assert.ErrorContains(t, err, "ERR out of order")
}
