package probe_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/probe"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// WATCH and SELECT are not sent behind the proxy on which they harm others.
func TestGuardedCommands(t *testing.T) {
	long.Repeats(t)
	playing(t, "envoy", func(t *testing.T, proxy *proxytest.Proxy) {
		r := ask(t, proxy, probe.Config{})
		assert.Equal(t, probe.NotAsked, r.Transactions.Watch)
		assert.Equal(t, probe.NotAsked, r.Databases)
		assert.Contains(t, r.Text(), "WATCH was not asked")

		// Nor if such a proxy is expected, for any answers.
		envoy, err := proxycompat.Lookup("envoy")
		require.NoError(t, err)
		r = ask(t, play(t, "redis"), probe.Config{Profile: envoy})
		assert.Equal(t, probe.NotAsked, r.Transactions.Watch)
	})
}

// Probe ends with ctx at once, and deletes its keys.
func TestEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		proxy := play(t, "codis")
		gone := errors.New("the user has gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		proxy.Inject(proxytest.Fault{Command: "GEOADD", Times: -1, Action: proxytest.HangRequest, Do: func() { cancel(gone) }})
		began := time.Now()
		r, err := probe.Probe(ctx, proxy.Addr(), probe.Config{Dial: proxy.Dial, Timeout: time.Minute, Budget: time.Hour})
		assert.Nil(t, r)
		require.ErrorIs(t, err, gone)
		assert.Less(t, time.Since(began), 10*time.Second)
		assert.LessOrEqual(t, nothingStays(t, proxy, 2), 1, "what GEOADD may yet be executed on")
		assert.Zero(t, ours(), "goroutines are left")

		_, err = probe.Probe(ctx, proxy.Addr(), probe.Config{Dial: proxy.Dial})
		require.ErrorIs(t, err, gone)
	})
}

// A missing reply affects that command only.
func TestHang(t *testing.T) {
	playing(t, "codis", func(t *testing.T, proxy *proxytest.Proxy) {
		proxy.Inject(proxytest.Fault{Command: "GEODIST", Times: -1, Action: proxytest.HangReply})
		r := ask(t, proxy, probe.Config{Timeout: 3 * time.Second})
		assert.Equal(t, "codis", r.MostLike())
		assert.Equal(t, []string{"GEODIST"}, r.Unanswered())
		for _, d := range r.Differences {
			assert.NotEqual(t, probe.Timeout, d.Observed, "%s: it may have been the network", d.Command)
		}
		assert.Contains(t, r.Text(), "Not answered in time, so that nothing is known of it: GEODIST.")
		assert.Zero(t, nothingStays(t, proxy, 2))
	})
}

// The probe does not wait for each command of a proxy that has stopped answering.
func TestHangsForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		proxy := play(t, "codis")
		proxy.Inject(proxytest.Fault{Skip: 60, Times: -1, Action: proxytest.HangRequest})
		_, err := probe.Probe(t.Context(), proxy.Addr(), probe.Config{Dial: proxy.Dial, Timeout: 100 * time.Millisecond})
		var failed *probe.ConnectError
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, probe.Hangs, failed.Reason)
		nothingStays(t, proxy, 2)
		assert.Zero(t, ours())
	})
}

// A connection closed once is a network failure; closed each time, it is the answer.
func TestCut(t *testing.T) {
	playing(t, "codis", func(t *testing.T, proxy *proxytest.Proxy) {
		proxy.Inject(proxytest.Fault{Command: "ZCARD", Action: proxytest.DropReply})
		proxy.Inject(proxytest.Fault{Command: "ZCOUNT", Times: -1, Action: proxytest.DropReply, Keep: 1})
		proxy.Inject(proxytest.Fault{Command: "SADD", Action: proxytest.DropReply})
		r := ask(t, proxy, probe.Config{})
		assert.NotContains(t, observed(r), "ZCARD closes")
		assert.Contains(t, observed(r), "ZCOUNT closes")
		assert.NotContains(t, observed(r), "SADD closes")
		assert.Equal(t, r.Left, nothingStays(t, proxy, 2))
		assert.Equal(t, 1, r.Left, "the first SADD may yet be executed")
	})
}

// closing is a connection that ends after an error reply.
type closing struct{ net.Conn }

func (c closing) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && b[0] == '-' {
		_ = c.Close()
	}
	return n, err
}

// Codis may be configured to close a connection after an error reply. Such a proxy is not classified as
// closing instead of answering.
func TestClosesAfterErrors(t *testing.T) {
	playing(t, "codis", func(t *testing.T, proxy *proxytest.Proxy) {
		r, err := probe.Probe(t.Context(), proxy.Addr(), probe.Config{Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, err := proxy.Dial(ctx, "", "")
			return closing{conn}, err
		}})
		require.NoError(t, err)
		assert.True(t, r.ClosesAfterErrors)
		assert.Equal(t, "codis", r.MostLike())
		for _, a := range r.Commands {
			assert.NotEqual(t, probe.Closes, a.Outcome, a.Command)
		}
	})
}

// A late reply is not taken for that of the next command.
func TestLate(t *testing.T) {
	playing(t, "codis", func(t *testing.T, proxy *proxytest.Proxy) {
		proxy.Inject(proxytest.Fault{Command: "LPOP", Times: -1, Action: proxytest.DelayReply, Delay: 6 * time.Second})
		r := ask(t, proxy, probe.Config{Timeout: 3 * time.Second})
		assert.Equal(t, []string{"LPOP"}, r.Unanswered())
		a, asked := r.Answer("RPOP")
		require.True(t, asked)
		assert.Equal(t, probe.OK, a.Outcome)
		assert.Equal(t, r.Left, nothingStays(t, proxy, 2))
	})
}

// Replies lost together with an expiry must not leave a key for ever.
func TestExpiryIsLost(t *testing.T) {
	t.Parallel()
	long.Repeats(t)
	synctest.Test(t, func(t *testing.T) {
		proxy := start(t, proxytest.Config{Reorder: true})
		proxy.Inject(proxytest.Fault{Command: "PEXPIRE", Skip: 1, Times: 20, Action: proxytest.DropRequest})
		r := ask(t, proxy, probe.Config{})
		assert.Equal(t, r.Left, nothingStays(t, proxy, 1))
		assert.Empty(t, r.WritesSkipped)
		assert.Zero(t, r.Lasting)
	})
}

func TestRiskyAsksMore(t *testing.T) {
	long.Repeats(t)
	playing(t, "redis", func(t *testing.T, proxy *proxytest.Proxy) {
		const large = 8 << 20
		proxy.Inject(proxytest.Fault{
			Command: "SET", Match: func(args []string) bool { return len(args[2]) > large }, Times: -1,
			Action: proxytest.RefuseWith, Text: "ERR too large",
		})
		// The fault starts after all other reads, and a pipeline of 1000.
		proxy.Inject(proxytest.Fault{Command: "GET", Skip: 3000, Times: -1, Action: proxytest.RefuseWith, Text: "ERR too many"})
		r := ask(t, proxy, probe.Config{Risky: true, Timeout: 10 * time.Second})
		for _, command := range []string{"HELLO", "BLPOP", "SUBSCRIBE", "PUBLISH"} {
			_, asked := r.Answer(command)
			assert.True(t, asked, command)
		}
		assert.Equal(t, 1000, r.Limits.Pipeline)
		assert.Equal(t, "5000 commands: ERR too many", r.Limits.PipelineEnd)
		assert.Equal(t, large, r.Limits.Value)
		assert.Equal(t, "33554432 bytes: ERR too large", r.Limits.ValueEnd)
		assert.Contains(t, words(r), "Values: 8388608 bytes went through, and not 33554432 bytes: ERR too large.")
		assert.Zero(t, nothingStays(t, proxy, 1))
	})
}

// observed lists the differences as "COMMAND outcome".
func observed(r *probe.Report) []string {
	var out []string
	for _, d := range r.Differences {
		out = append(out, d.Command+" "+string(d.Observed))
	}
	return out
}
