package proxytest_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// overtaken sends pairs of commands, and counts the pairs executed in reverse order: on one key, and on two
// keys of two backends.
func overtaken(t *testing.T, cfg proxytest.Config, pipelined bool) (same, others int) {
	t.Helper()
	const pairs = 100
	cfg.InMemory, cfg.Engines = true, 2
	p, _ := start(t, cfg)
	w := dial(t, p)
	zero, one := keysOnTwo(p)
	for _, second := range []string{zero, one} {
		for i := range pairs {
			first, then := fmt.Sprintf("SET %s %d", zero, i), fmt.Sprintf("GET %s", second)
			if pipelined {
				w.send(first, then)
				w.reply()
				w.reply()
			} else {
				w.ask(first)
				w.ask(then)
			}
		}
	}
	calls := p.Calls()
	for i := 0; i < len(calls); i += 2 {
		switch {
		case calls[i].Command() == "SET":
		case calls[i].Args[1] == zero:
			same++
		default:
			others++
		}
	}
	return same, others
}

// The order is as measured with Codis and twemproxy: none with several connections to a backend, per
// backend with one, and total for clients that wait for each reply.
func TestOrder(t *testing.T) {
	same, others := overtaken(t, proxytest.Config{}, true)
	assert.Zero(t, same)
	assert.Zero(t, others)
	same, others = overtaken(t, proxytest.Config{Parallel: 1}, true)
	assert.Zero(t, same, "one connection keeps the order of what goes to one backend")
	assert.Greater(t, others, 10)
	for _, n := range []int{2, 4} {
		same, others = overtaken(t, proxytest.Config{Parallel: n}, true)
		assert.Greater(t, same, 10, "%d connections", n)
		assert.Greater(t, others, 10, "%d connections", n)
		same, others = overtaken(t, proxytest.Config{Parallel: n}, false)
		assert.Zero(t, same+others, "%d connections, awaited", n)
	}
}

// Equal seeds make equal orders.
func TestOrderIsRepeatable(t *testing.T) {
	one, _ := overtaken(t, proxytest.Config{Parallel: 3, Seed: 7}, true)
	again, _ := overtaken(t, proxytest.Config{Parallel: 3, Seed: 7}, true)
	other, _ := overtaken(t, proxytest.Config{Parallel: 3, Seed: 8}, true)
	assert.Equal(t, one, again)
	assert.NotEqual(t, one, other)
}
