package proxytest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

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
	for _, f := range []proxytest.Fault{
		{Action: proxytest.DropReply, Keep: 100}, {Action: proxytest.DropRequest},
		{Action: proxytest.HangReply, Delay: time.Second}, {Action: proxytest.HangRequest, Delay: time.Second},
	} {
		bubble(t, proxytest.Config{Reorder: true}, func(t *testing.T, p *proxytest.Proxy, rdb *redis.Client) {
			f.Skip = 1
			p.Inject(f)
			dial(t, p).pipeline([]string{"incr third", "incr second", "incr first"}, "EOF") // the first was not executed
			assert.EqualValues(t, 1, rdb.Exists(background, "third", "first").Val())
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
