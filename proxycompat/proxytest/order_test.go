package proxytest_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat"
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
	for _, c := range []struct {
		parallel     int
		pipelined    bool
		same, others bool // some pairs are executed in reverse order
	}{
		{0, true, false, false},
		{1, true, false, true},
		{2, true, true, true}, {4, true, true, true},
		{2, false, false, false}, {4, false, false, false},
	} {
		same, others := overtaken(t, proxytest.Config{Parallel: c.parallel}, c.pipelined)
		some := func(n int) bool {
			assert.True(t, n == 0 || n > 10, "%+v: %d", c, n)
			return n > 0
		}
		assert.Equal(t, []bool{c.same, c.others}, []bool{some(same), some(others)}, "%+v", c)
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

func TestReorder(t *testing.T) {
	p, _ := start(t, proxytest.Config{InMemory: true, Reorder: true})
	w := dial(t, p)
	w.pipeline([]string{"set k v", "get k"}, "+OK", "$-1")
	w.expect("get k", "$1|v") // one command at a time is in order
}

// Codis cuts the connection within a pipeline of more than 10,000 commands, and twemproxy executes it. In
// fake time the client has no timeout on a busy machine.
func TestHugePipeline(t *testing.T) {
	for _, profile := range []*proxycompat.Profile{proxycompat.Codis32(), twemproxy()} {
		bubble(t, proxytest.Config{Profile: profile, Engines: 3}, func(t *testing.T, p *proxytest.Proxy, rdb *redis.Client) {
			cmds, err := rdb.Pipelined(background, func(pipe redis.Pipeliner) error {
				for range 20000 {
					pipe.Incr(background, "n")
				}
				return nil
			})
			if profile.Name() == "codis" {
				require.Error(t, err)
				var redisErr redis.Error
				assert.False(t, errors.As(err, &redisErr), "cut, not answered: %v", err)
				assert.LessOrEqual(t, p.Count()["INCR"], 10000)
				return
			}
			require.NoError(t, err)
			assert.EqualValues(t, 20000, cmds[19999].(*redis.IntCmd).Val())
			assert.Equal(t, 20000, p.Count()["INCR"])
			p.ResetCalls()
			assert.Empty(t, p.Count())
		})
	}
}
