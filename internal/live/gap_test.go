package live

import (
	"context"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const zeros = "0000000000000000000000000000000000000000"

// Events that look like a gap, and are none.
func TestEventsThatAreNoGap(t *testing.T) {
	for name, change := range map[string]func(f *fake){
		"a first replica": func(f *fake) { // a new replication id without a second one
			f.fields["master_replid"], f.fields["master_replid2"] = "repl-2", zeros
		},
		"a module unloaded": func(f *fake) { delete(f.stats, "FT.SEARCH") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				f.stats["FT.SEARCH"] = Stat{Calls: 9}
				r := ran(t, f, Config{}, at(3, func() { f.do(func() { change(f) }) }))
				assert.Equal(t, Clean, r.Verdict, r.Incomplete)
				assert.Zero(t, r.Commands)
			})
		})
	}
}

// After a reset, every count may be higher than before.
func TestResetOfBusyServerIsDetected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.fields["total_commands_processed"] = "90000"
		r := ran(t, f, Config{}, at(3, func() {
			f.do(func() {
				f.fields["total_commands_processed"] = "80000"
				f.stats = map[string]Stat{"WATCH": {Calls: 50}, "GET": {Calls: 2000}, "INFO": {Calls: 100}, "CLIENT LIST": {Calls: 100},
					"CLIENT SETNAME": {Calls: 100}, "ACL WHOAMI": {Calls: 100}, "ACL LOG": {Calls: 100}}
			})
		}))
		assert.Equal(t, Incomplete, r.Verdict)
		assert.Contains(t, strings.Join(r.Incomplete, "\n"), "counters reset")
		assert.Equal(t, int64(50), r.Uses)
	})
}

// An unknown number of servers may be behind one address.
func TestSharedAddressIsIncomplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, two := newFake(), newFake()
		two.fields["run_id"] = "run-2"
		dials := 0
		r, err := Run(t.Context(), []Address{{Host: "redis:6379"}, {Host: "redis:6379"}}, Config{
			For: 1500 * time.Millisecond,
			Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
				dials++
				if dials%2 == 0 {
					return fakes{addr: one}.dial(ctx, network, addr)
				}
				return fakes{addr: two}.dial(ctx, network, addr)
			},
			Progress: func(Progress) { one.use("WATCH", 1); two.use("WATCH", 2) },
		})
		require.NoError(t, err)
		assert.Equal(t, Incomplete, r.Verdict)
		assert.Contains(t, r.Incomplete[0], "is the address of several servers")
		assert.Equal(t, map[string]Stat{"redis:6379": {Calls: 6}}, found(r, "WATCH").Servers)
		var out strings.Builder
		require.NoError(t, r.WritePrometheus(&out))
		assert.Equal(t, 1, strings.Count(out.String(), "\nmigrate_check_commands_total{"))
	})
}

// Redis 6.0 does not count rejected commands, so the report needs all of ACL LOG.
func TestOldServerNeedsACLLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.fields["redis_version"] = "6.0.16"
		r := ran(t, f, Config{}, at(3, func() {
			f.use("WATCH", 3)
			f.do(func() {
				f.log = []Denied{
					{ID: 2, Count: 4, Reason: "command", Context: "lua", Object: "watch", Username: "desk"},
					{ID: 1, Count: 2, Reason: "command", Context: "toplevel", Object: "watch", Username: "desk"},
				}
			})
		}))
		assert.Equal(t, Stat{Calls: 3, Rejected: 6}, found(r, "WATCH").Stat)
		assert.Equal(t, int64(9), r.Uses)
	})
}

// Valkey has its own names for some fields of INFO.
func TestValkey(t *testing.T) {
	valkey := func() *fake {
		f := newFake()
		delete(f.fields, "redis_mode")
		f.fields["server_mode"], f.fields["server_name"], f.fields["valkey_version"] = "standalone", "valkey", "8.0.1"
		return f
	}
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		r := ran(t, valkey(), Config{}, nil)
		assert.Equal(t, Clean, r.Verdict, r.Incomplete)
		require.NoError(t, r.WriteText(&out))
		assert.Contains(t, out.String(), "redis:6379: valkey 8.0.1, master")

		f := valkey()
		delete(f.fields, "role")
		f.fields["server_mode"], f.fields["master0"] = "sentinel", "name=main,status=ok,address=10.0.0.1:6379,slaves=1,sentinels=3"
		_, err := tried(t.Context(), fakes{"redis:6379": f}, Config{}, nil)
		require.ErrorContains(t, err, "this is a sentinel")
	})
}

func TestServerWithoutRoleIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		delete(f.fields, "role")
		_, err := tried(t.Context(), fakes{"redis:6379": f}, Config{Replicas: true}, nil)
		require.ErrorContains(t, err, "does not tell whether this is a primary")
	})
}
