package probe_test

import (
	"bytes"
	"context"
	"encoding/json"
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

func TestCodis(t *testing.T) {
	playing(t, "codis", func(t *testing.T, proxy *proxytest.Proxy) {
		r := ask(t, proxy, probe.Config{})
		assert.Equal(t, probe.TakenApart, r.Transactions.Multi)
		assert.Equal(t, probe.Refuses, r.Transactions.Watch)
		assert.Equal(t, probe.Works, r.Databases)
		assert.Equal(t, probe.Scripts{
			Eval: probe.Works, EvalSHA: probe.Works, NoKey: probe.Works, OneTag: probe.Works, TwoSlots: probe.Ignored,
			HashTags: probe.Works, Caches: 2, Keys: 256,
		}, r.Scripts)
		assert.Equal(t, 1<<20, r.Limits.Value)
		assert.Equal(t, 1000, r.Limits.Pipeline)
		assert.Empty(t, r.Limits.ValueEnd+r.Limits.PipelineEnd+r.Unfinished)
		assert.Zero(t, r.Left)
		multi, asked := r.Answer("MULTI")
		require.True(t, asked)
		assert.Equal(t, probe.Refused, multi.Outcome)
		assert.Equal(t, "ERR handle request, command 'MULTI' is not allowed", multi.Text)
	})
}

func TestTwemproxy(t *testing.T) {
	long.Repeats(t)
	playing(t, "twemproxy", func(t *testing.T, proxy *proxytest.Proxy) {
		r := ask(t, proxy, probe.Config{})
		assert.Equal(t, probe.Disconnects, r.Transactions.Multi)
		assert.Equal(t, probe.Disconnects, r.Transactions.Watch)
		assert.Equal(t, probe.Disconnects, r.Databases)
		assert.Equal(t, probe.Disconnects, r.Scripts.NoKey)
		assert.Equal(t, probe.Ignored, r.Scripts.HashTags, "it has no hash tags")
		assert.False(t, r.ClosesAfterErrors)
		assert.Contains(t, words(r), "WATCH does not work here")
		assert.Contains(t, words(r), "scripts can have one key only")
	})
}

func TestRedis(t *testing.T) {
	long.Repeats(t)
	playing(t, "redis", func(t *testing.T, proxy *proxytest.Proxy) {
		r := ask(t, proxy, probe.Config{})
		assert.Equal(t, probe.Works, r.Transactions.Multi)
		assert.Equal(t, probe.Works, r.Transactions.Watch)
		assert.Equal(t, probe.Works, r.Databases)
		assert.Equal(t, probe.Unclear, r.Scripts.HashTags, "all keys are together")
		assert.Equal(t, 1, r.Scripts.Caches)
		assert.Zero(t, r.Ordering.SameKey.Found+r.Ordering.TwoKeys.Found)
		for reads, most := range map[probe.Count]int{r.Reads.Get: 103, r.Reads.Eval: 100} { // fewer if the server is slow
			assert.Zero(t, reads.Found)
			assert.Positive(t, reads.Asked)
			assert.LessOrEqual(t, reads.Asked, most)
		}
		assert.Regexp(t, `No pipeline of \d+ was out of order; that is no promise\.`, words(r))
		assert.Regexp(t, `No GET of \d+ was old after a write; that is no promise\.`, words(r))
		assert.Contains(t, words(r), "Values: 1048576 bytes went through; more was not tried.")
		assert.Contains(t, words(r), "Pipelines: 1000 commands went through; more was not tried.")
	})
}

// touches is a connection on which WATCH has no effect.
type touches struct{ net.Conn }

func (c touches) Write(b []byte) (int, error) {
	_, err := c.Conn.Write(bytes.ReplaceAll(b, []byte("$5\r\nWATCH\r\n"), []byte("$5\r\nTOUCH\r\n")))
	return len(b), err
}

// The text reports a WATCH without an effect.
func TestIneffectiveWatch(t *testing.T) {
	long.Repeats(t)
	playing(t, "redis", func(t *testing.T, proxy *proxytest.Proxy) {
		r, err := probe.Probe(t.Context(), proxy.Addr(), probe.Config{Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, err := proxy.Dial(ctx, "", "")
			return touches{conn}, err
		}})
		require.NoError(t, err)
		assert.Equal(t, probe.Transactions{Multi: probe.Works, Watch: probe.Ignored}, r.Transactions)
		assert.Contains(t, words(r), "WATCH is answered OK and does nothing: updates get lost.")
	})
}

// Reordering is detected.
func TestReordering(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := ask(t, start(t, proxytest.Config{Reorder: true}), probe.Config{})
		assert.Positive(t, r.Ordering.SameKey.Found)
		assert.Positive(t, r.Ordering.TwoKeys.Found)
		assert.Zero(t, r.Reads.Get.Found, "what was answered is there")
		assert.Contains(t, r.Text(), "Pipelines are not ordered")
	})
}

// Stale replicas are detected, and not reported as reordering.
func TestStaleReads(t *testing.T) {
	t.Parallel()
	long.Repeats(t)
	synctest.Test(t, func(t *testing.T) {
		r := ask(t, start(t, proxytest.Config{ReplicaLag: 300 * time.Millisecond}), probe.Config{})
		assert.Equal(t, "codis", r.MostLike())
		assert.Positive(t, r.Reads.Get.Found)
		assert.Zero(t, r.Reads.Eval.Found, "scripts go to the master")
		assert.Positive(t, r.Ordering.SameKey.Asked)
		assert.Zero(t, r.Ordering.SameKey.Found+r.Ordering.TwoKeys.Found)
		assert.Equal(t, 1<<20, r.Limits.Value)
		assert.Contains(t, r.Text(), "GET is old after a write")
	})
}

// Native compare-and-set commands of each store are detected.
func TestCompareAndSet(t *testing.T) {
	t.Parallel()
	for store, want := range map[proxytest.Store]probe.CompareAndSet{
		proxytest.Redis84: {SetIFEQ: probe.Works, DelEX: probe.Works},
		proxytest.Valkey9: {SetIFEQ: probe.Works, DelIFEQ: probe.Works},
		proxytest.Pika:    {SetVX: probe.Works, DelVX: probe.Works},
		proxytest.Kvrocks: {CAS: probe.Works, CAD: probe.Works},
	} {
		t.Run(store.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				got := ask(t, start(t, proxytest.Config{Store: store}), probe.Config{})
				assert.Equal(t, probe.Refuses, got.Scripts.Eval)
				for _, f := range []*probe.Finding{
					&got.CompareAndSet.SetIFEQ, &got.CompareAndSet.DelEX, &got.CompareAndSet.DelIFEQ, &got.CompareAndSet.SetVX,
					&got.CompareAndSet.DelVX, &got.CompareAndSet.CAS, &got.CompareAndSet.CAD,
				} {
					if *f == probe.Refuses {
						*f = probe.NotAsked
					}
				}
				assert.Equal(t, want, got.CompareAndSet)
			})
		})
	}
}

// Differences refer to the expected profile, and make a profile without differences.
func TestDifferencesBecomeAProfile(t *testing.T) {
	long.Repeats(t)
	playing(t, "predixy", func(t *testing.T, proxy *proxytest.Proxy) {
		r := ask(t, proxy, probe.Config{Profile: proxycompat.Codis32()})
		assert.Equal(t, "predixy", r.MostLike())
		assert.Equal(t, "codis", r.Base)
		assert.Greater(t, len(r.Differences), 5)
		assert.Contains(t, words(r), "It is less like codis, which was expected, than like predixy.")

		changed, err := r.BaseProfile().Extend(r.Changes("ours"))
		require.NoError(t, err)
		again := ask(t, proxy, probe.Config{Profile: changed})
		assert.Equal(t, "ours", again.Base)
		for _, d := range again.Differences {
			assert.NotEmpty(t, d.Case, "%s: still expected %s, observed %s", d.Command, d.Expected, d.Observed)
		}
	})
}

// The names of the fields are stable.
func TestJSON(t *testing.T) {
	long.Repeats(t)
	playing(t, "twemproxy", func(t *testing.T, proxy *proxytest.Proxy) {
		r := ask(t, proxy, probe.Config{Profile: proxycompat.Codis32()})
		data, err := json.Marshal(r)
		require.NoError(t, err)
		var got map[string]any
		require.NoError(t, json.Unmarshal(data, &got))
		for _, name := range []string{
			"addr", "at", "tookMs", "sent", "allCommands", "dialled", "server", "commands", "likeness", "base", "given", "differences",
			"ordering", "reads", "scripts", "compareAndSet", "transactions", "databases", "limits", "closesAfterErrors", "left",
			"lasting", "prefix", "enough",
		} {
			assert.Contains(t, got, name)
		}
		assert.NotContains(t, got, "unfinished")
		first := got["commands"].([]any)[0].(map[string]any)
		assert.Equal(t, map[string]any{"command": "PING", "outcome": "ok"}, first)
		var back probe.Report
		require.NoError(t, json.Unmarshal(data, &back))
		assert.Equal(t, r.Text(), back.Text(), "what a report says is in its JSON")
	})
}

// When the budget ends, the report covers the questions answered so far.
func TestBudget(t *testing.T) {
	playing(t, "codis", func(t *testing.T, proxy *proxytest.Proxy) {
		proxy.Inject(proxytest.Fault{Command: "ZADD", Times: -1, Action: proxytest.HangRequest})
		proxy.Inject(proxytest.Fault{Command: "PING", Action: proxytest.HangRequest})
		_, err := probe.Probe(t.Context(), proxy.Addr(), probe.Config{Dial: proxy.Dial, Budget: time.Second, Timeout: 10 * time.Second})
		var failed *probe.ConnectError
		require.ErrorAs(t, err, &failed)

		r := ask(t, proxy, probe.Config{Budget: time.Second, Timeout: 10 * time.Second})
		assert.False(t, r.AllCommands)
		assert.Contains(t, r.Unfinished, "the budget of 1s ended at \"commands\"")
		assert.Equal(t, "codis", r.MostLike(), r.Text())
		assert.Equal(t, r.Left, nothingStays(t, proxy, 2))
		assert.Equal(t, 1, r.Left, "ZADD may yet be executed")

		// Less than half: no profile is named.
		proxy.Inject(proxytest.Fault{Command: "GETRANGE", Times: -1, Action: proxytest.HangRequest})
		_, err = probe.Probe(t.Context(), proxy.Addr(), probe.Config{Dial: proxy.Dial, Budget: time.Second, Timeout: 10 * time.Second})
		require.ErrorContains(t, err, "too early for a report")
	})
}
