package proxytest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// bubble runs fn in fake time, with a proxy in memory and a client.
func bubble(t *testing.T, cfg proxytest.Config, fn func(t *testing.T, p *proxytest.Proxy, rdb *redis.Client)) {
	t.Helper()
	cfg.InMemory = true
	synctest.Test(t, func(t *testing.T) {
		p, rdb := start(t, cfg)
		fn(t, p, rdb)
	})
}

func TestFaultActions(t *testing.T) {
	const timeout = 5 * time.Second // go-redis' ReadTimeout
	for _, test := range []struct {
		fault    proxytest.Fault
		executed bool          // when the client got its reply
		later    bool          // a minute later
		took     time.Duration // until the client got its reply
		err      string        // "" means none
	}{
		{proxytest.Fault{Action: proxytest.DropReply}, true, true, 0, "EOF"},
		{proxytest.Fault{Action: proxytest.DropReply, Keep: 3}, true, true, 0, "EOF"},
		{proxytest.Fault{Action: proxytest.DropRequest}, false, false, 0, "EOF"},
		{proxytest.Fault{Action: proxytest.HangReply}, true, true, timeout, "i/o timeout"},
		{proxytest.Fault{Action: proxytest.HangRequest}, false, false, timeout, "i/o timeout"},
		{proxytest.Fault{Action: proxytest.HangReply, Delay: time.Second}, true, true, time.Second, "EOF"},
		{proxytest.Fault{Action: proxytest.HangRequest, Delay: time.Second}, false, false, time.Second, "EOF"},
		{proxytest.Fault{Action: proxytest.Delay, Delay: time.Second}, true, true, time.Second, ""},
		{proxytest.Fault{Action: proxytest.Delay, Delay: 20 * time.Second}, false, true, timeout, "i/o timeout"},
		{proxytest.Fault{Action: proxytest.DelayReply, Delay: time.Second}, true, true, time.Second, ""},
		{proxytest.Fault{Action: proxytest.RefuseWith, Text: "LOADING now"}, false, false, 0, "LOADING now"},
		{proxytest.Fault{Action: proxytest.ExecuteLater, Delay: 20 * time.Second}, false, true, 0, "EOF"},
		{proxytest.Fault{Action: proxytest.ExecuteLater, Delay: 20 * time.Second, Text: "ERR later"}, false, true, 0, "ERR later"},
		{proxytest.Fault{Action: proxytest.None}, true, true, 0, ""},
	} {
		t.Run(test.fault.Action.String()+" "+test.fault.Text+test.fault.Delay.String(), func(t *testing.T) {
			bubble(t, proxytest.Config{Engines: 2}, func(t *testing.T, p *proxytest.Proxy, rdb *redis.Client) {
				test.fault.Command = "SET"
				p.Inject(test.fault)
				stored := func() bool { return p.Engine(p.BackendOf("k")).Exists("k") }
				began := time.Now()
				err := rdb.Set(background, "k", "v", 0).Err()
				assert.Equal(t, test.err == "", err == nil, "%v", err)
				assert.Contains(t, fmt.Sprint(err), test.err)
				assert.Equal(t, test.took, time.Since(began))
				assert.Equal(t, test.executed, stored())
				time.Sleep(time.Minute)
				assert.Equal(t, test.later, stored())
				require.NoError(t, rdb.Set(background, "k", "v", 0).Err(), "it acts once")
			})
		})
	}
}

// A transaction goes along with its EXEC that is late, and loses a command that comes late, with all of it.
func TestFaultExecutesTransactionLater(t *testing.T) {
	single, err := proxycompat.Lookup("predixy-single")
	require.NoError(t, err)
	for _, profile := range []*proxycompat.Profile{proxycompat.Redis(), single} {
		for command, want := range map[string]bool{"EXEC": true, "SET": false} {
			t.Run(profile.Name()+"/"+command, func(t *testing.T) {
				cfg := proxytest.Config{Profile: profile}
				bubble(t, cfg, func(t *testing.T, p *proxytest.Proxy, rdb *redis.Client) {
					for _, text := range []string{"", "ERR later"} {
						key := "k" + text
						late := proxytest.Fault{Command: command, Times: 1, Action: proxytest.ExecuteLater, Delay: time.Second, Text: text}
						p.Inject(late)
						_, err := rdb.TxPipelined(background, func(pipe redis.Pipeliner) error {
							pipe.Set(background, key, "v", 0)
							return pipe.Set(background, key+"2", "v", 0).Err()
						})
						require.Error(t, err)
						assert.False(t, p.Engine(0).Exists(key))
						time.Sleep(2 * time.Second)
						assert.Equal(t, want, p.Engine(0).Exists(key))
						assert.Equal(t, want, p.Engine(0).Exists(key+"2"))
					}
				})
			})
		}
	}
}

func TestFaultSkipTimesMatchRemove(t *testing.T) {
	bubble(t, proxytest.Config{Engines: 2}, func(t *testing.T, p *proxytest.Proxy, rdb *redis.Client) {
		p.Inject(proxytest.Fault{
			Command: "INCR", Match: func(args []string) bool { return args[1] == "n" },
			Skip: 1, Times: 2, Action: proxytest.RefuseWith, Text: "ERR no",
		})
		var got []bool
		for range 5 {
			require.NoError(t, rdb.Incr(background, "other").Err())
			got = append(got, rdb.Incr(background, "n").Err() == nil)
		}
		assert.Equal(t, []bool{true, false, false, true, true}, got)

		remove := p.Inject(proxytest.Fault{Times: -1, Action: proxytest.RefuseWith, Text: "ERR all"})
		for range 3 {
			require.EqualError(t, rdb.Get(background, "n").Err(), "ERR all")
		}
		remove()
		remove()
		require.NoError(t, rdb.Get(background, "n").Err())
		assert.Equal(t, proxytest.RefuseWith, p.Calls()[len(p.Calls())-2].Fault)
		assert.Equal(t, "error ERR all", p.Calls()[len(p.Calls())-2].Reply)
	})
}

func TestFaultDoRunsJustBeforeTheAction(t *testing.T) {
	bubble(t, proxytest.Config{Engines: 2}, func(t *testing.T, p *proxytest.Proxy, rdb *redis.Client) {
		engine := p.Engine(p.BackendOf("k"))
		p.Inject(proxytest.Fault{Command: "GET", Action: proxytest.Delay, Do: func() { _ = engine.Set("k", "new") }})
		p.Inject(proxytest.Fault{Command: "GET", Action: proxytest.DelayReply, Do: func() { _ = engine.Set("k", "newer") }})
		assert.Equal(t, "new", rdb.Get(background, "k").Val())
		assert.Equal(t, "new", rdb.Get(background, "k").Val())
		assert.Equal(t, "newer", rdb.Get(background, "k").Val())
	})
}

func TestFaultInsideAPipeline(t *testing.T) {
	bubble(t, proxytest.Config{Engines: 2}, func(t *testing.T, p *proxytest.Proxy, rdb *redis.Client) {
		p.Inject(proxytest.Fault{Command: "GET", Action: proxytest.DropReply})
		dial(t, p).pipeline([]string{"set a 1", "get a", "set b 1"}, "+OK", "EOF") // earlier replies arrive
		assert.EqualValues(t, 0, rdb.Exists(background, "b").Val(), "what follows the cut was not read")
	})
}

// A client matches replies by their order, so no reply may take the place of one that is not sent.
func TestFaultInsideAReorderedPipeline(t *testing.T) {
	for _, f := range []proxytest.Fault{{Action: proxytest.DropReply, Keep: 100}, {Action: proxytest.DropRequest}} {
		bubble(t, proxytest.Config{Reorder: true}, func(t *testing.T, p *proxytest.Proxy, rdb *redis.Client) {
			f.Skip = 1
			p.Inject(f)
			dial(t, p).pipeline([]string{"incr third", "incr second", "incr first"}, "EOF") // the first was not executed
			assert.EqualValues(t, 1, rdb.Exists(background, "third", "first").Val())
		})
	}
}

// A proxy executes the commands beside one that hangs. Replies before that one arrive at once, those after it never.
func TestHangInsideAPipeline(t *testing.T) {
	for _, f := range []proxytest.Fault{
		{Action: proxytest.HangReply, Delay: time.Second}, {Action: proxytest.HangRequest, Delay: time.Second},
	} {
		for _, reorder := range []bool{false, true} {
			bubble(t, proxytest.Config{Reorder: reorder}, func(t *testing.T, p *proxytest.Proxy, rdb *redis.Client) {
				f.Skip = 1
				p.Inject(f)
				dial(t, p).pipeline([]string{"incr first", "incr second", "incr third"}, ":1", "EOF")
				assert.EqualValues(t, 2, rdb.Exists(background, "third", "first").Val())
			})
		}
	}
}

// A late reply holds back those after it, and not those before it.
func TestLateReplyInsideAPipeline(t *testing.T) {
	bubble(t, proxytest.Config{}, func(t *testing.T, p *proxytest.Proxy, rdb *redis.Client) {
		p.Inject(proxytest.Fault{Skip: 1, Action: proxytest.DelayReply, Delay: time.Second})
		began, w := time.Now(), dial(t, p)
		w.send("incr first", "incr second", "incr third")
		assert.Equal(t, ":1", w.reply())
		assert.Zero(t, time.Since(began))
		assert.EqualValues(t, 3, rdb.Exists(background, "first", "second", "third").Val())
		assert.Equal(t, ":1", w.reply())
		assert.Equal(t, ":1", w.reply())
		assert.Equal(t, time.Second, time.Since(began))
	})
}

// While a backend sleeps, replies from others arrive up to the first one of its own. That one comes when it wakes
// up, or as an error after Config.BackendTimeout.
func TestSleepingBackendHoldsBackReplies(t *testing.T) {
	for wakes, want := range map[time.Duration]string{time.Second: "+OK", time.Hour: "-ERR "} {
		cfg := proxytest.Config{Engines: 2, BackendTimeout: 2 * time.Second}
		bubble(t, cfg, func(t *testing.T, p *proxytest.Proxy, _ *redis.Client) {
			a, b := keysOnTwo(p)
			p.Sleep(p.BackendOf(a))
			time.AfterFunc(wakes, func() { p.Wake(p.BackendOf(a)) })
			began, w := time.Now(), dial(t, p)
			w.send("SET "+b+" 1", "SET "+a+" 1", "SET "+b+" 2")
			assert.Equal(t, "+OK", w.reply())
			assert.Zero(t, time.Since(began))
			assert.True(t, strings.HasPrefix(w.reply(), want))
			assert.Equal(t, min(wakes, cfg.BackendTimeout), time.Since(began))
			assert.Equal(t, "+OK", w.reply())
		})
	}
}

func TestCloseDoesNotWaitForDelays(t *testing.T) {
	bubble(t, proxytest.Config{Engines: 2}, func(t *testing.T, p *proxytest.Proxy, rdb *redis.Client) {
		p.Inject(proxytest.Fault{Command: "SET", Action: proxytest.ExecuteLater, Delay: time.Hour})
		p.Inject(proxytest.Fault{Command: "GET", Action: proxytest.Delay, Delay: time.Hour})
		require.Error(t, rdb.Set(background, "k", "v", 0).Err())
		require.Error(t, rdb.Get(background, "k").Err())
		began := time.Now()
		require.NoError(t, p.Close())
		assert.Zero(t, time.Since(began))
	})
}

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
