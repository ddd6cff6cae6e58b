package live

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat"
)

// ran observes a server for ten seconds of a bubble's time, and calls step every second.
func ran(t *testing.T, f *fake, cfg Config, step func(second int)) *Report {
	t.Helper()
	r, err := tried(t.Context(), fakes{"redis:6379": f}, cfg, step)
	require.NoError(t, err)
	return r
}

func tried(ctx context.Context, f fakes, cfg Config, step func(second int)) (*Report, error) {
	if cfg.For == 0 {
		cfg.For = 10500 * time.Millisecond
	}
	cfg.Dial = f.dial
	second := 0
	cfg.Progress = func(Progress) {
		if step != nil {
			step(second)
		}
		second++
	}
	return Run(ctx, []Address{{Host: "redis:6379"}}, cfg)
}

func at(want int, do func()) func(int) {
	return func(second int) {
		if second == want {
			do()
		}
	}
}

func found(r *Report, command string) *Finding {
	for i := range r.Findings {
		if r.Findings[i].Command == command {
			return &r.Findings[i]
		}
	}
	return nil
}

// Our own commands do not count, on any version.
func TestOwnCommandsDoNotCount(t *testing.T) {
	for _, version := range []string{"3.2.12", "6.2.14", "7.0.15", "8.0.2"} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			f.fields["redis_version"] = version
			r := ran(t, f, Config{Strict: true, Monitor: &MonitorConfig{}}, nil)
			assert.Equal(t, Clean, r.Verdict, r.Incomplete)
			assert.Empty(t, r.Findings)
			assert.Zero(t, r.Commands)
			assert.Greater(t, r.Own, int64(30))
			assert.Equal(t, 12, r.Servers[0].Looks)
			assert.Equal(t, "0 uses in 11 s of 0 commands from 0 clients on 1 server", r.Summary)
		})
	}
}

// A whole run sends allowed commands only.
func TestRunSendsAllowedCommandsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.fields["cluster_enabled"] = "1"
		f.nodes = "a redis:6379@16379 myself,master - 0 0 1 connected 0-16383\n"
		r := ran(t, f, Config{Monitor: &MonitorConfig{}}, nil)
		assert.Equal(t, Clean, r.Verdict, r.Incomplete)
		sent := map[string]bool{}
		for _, args := range f.received {
			assert.True(t, allowed(args), args)
			sent[strings.ToUpper(strings.Join(args[:min(2, len(args))], " "))] = true
		}
		assert.Equal(t, map[string]bool{
			"INFO": true, "INFO COMMANDSTATS": true, "CLIENT LIST": true, "CLIENT SETNAME": true,
			"ACL WHOAMI": true, "ACL LOG": true, "CLUSTER NODES": true, "MONITOR": true,
		}, sent)
	})
}

func TestUsesAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		r := ran(t, f, Config{}, at(3, func() {
			f.use("WATCH", 7)
			f.use("GET", 93)
			f.do(func() { f.add("EXEC", Stat{Calls: 5, Rejected: 2, Failed: 1}) })
			f.use("SINTER", 3)
			f.use("CONFIG GET", 4)
			f.use("HELLO", 6)
			f.use("REPLCONF", 10)
			f.use("INFO", 10) // by others; none is taken for ours
			f.do(func() {
				f.clients = []string{clientLine(9, "desk", "flags=x multi=2 cmd=watch"),
					clientLine(8, "desk", "flags=N multi=-1 cmd=watch")}
			})
		}))
		assert.Equal(t, Findings, r.Verdict)
		assert.Equal(t, 3, r.Verdict.ExitCode())
		assert.Equal(t, "14 uses in 11 s of 140 commands from 2 clients on 1 server; 1 client in the middle of one", r.Summary)
		watch := found(r, "WATCH")
		require.NotNil(t, watch)
		assert.Equal(t, "MC101", watch.Rule)
		assert.Equal(t, Stat{Calls: 7}, watch.Stat, "what was counted before the window is not in it")
		require.Len(t, watch.From, 1)
		assert.Equal(t, Who{Name: "desk", Host: "10.0.0.7", Lib: "go-redis 9.7.0", User: "default"}, watch.From[0].Who)
		assert.Equal(t, 2, watch.From[0].Connections)
		assert.Equal(t, Stat{5, 2, 1}, found(r, "EXEC").Stat)
		assert.Equal(t, 1, found(r, "MULTI").Held)
		for command, rule := range map[string]string{"SINTER": "MC402", "CONFIG GET": "MC701", "HELLO": "MC602"} {
			assert.Equal(t, rule, found(r, command).Rule)
			assert.False(t, found(r, command).Counts(), command)
		}
		assert.Nil(t, found(r, "REPLCONF"))
		assert.Equal(t, []Attributed{{"redis:6379", "REPLCONF", 10, "replication"}}, r.Attributed)
	})
}

func TestStrictReportsAdministration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		r := ran(t, f, Config{Strict: true}, at(3, func() { f.use("CONFIG GET", 4) }))
		assert.Equal(t, Findings, r.Verdict)
		assert.Equal(t, int64(4), r.Uses)
	})
}

// A subscriber from before the window is found, although it sends nothing.
func TestEarlierSubscribersAreFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.clients = []string{clientLine(9, "feed", "flags=P sub=2 multi=-1 cmd=subscribe")}
		r := ran(t, f, Config{}, nil)
		assert.Equal(t, Findings, r.Verdict)
		assert.Equal(t, "0 uses in 11 s of 0 commands from 1 client on 1 server; 1 client in the middle of one", r.Summary)
		assert.Equal(t, "feed", found(r, "SUBSCRIBE").From[0].Name)
	})
}

// A last command from before the window is no evidence of a use within it.
func TestEarlierCommandIsNoEvidence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.clients = []string{strings.Replace(clientLine(9, "old", "flags=N multi=-1 cmd=watch"), "idle=0", "idle=900", 1)}
		r := ran(t, f, Config{}, at(3, func() { f.use("WATCH", 1) }))
		assert.Empty(t, found(r, "WATCH").From)
	})
}

func TestGapsAreIncomplete(t *testing.T) {
	for name, test := range map[string]struct {
		change func(f *fake)
		why    string
		uses   int64
	}{
		"reset": {func(f *fake) {
			f.do(func() { f.stats = map[string]Stat{"WATCH": {Calls: 4}, "CONFIG RESETSTAT": {Calls: 1}} })
		}, "counters reset", 9},
		"restart": {func(f *fake) {
			f.do(func() { f.fields["run_id"] = "run-2"; f.stats = map[string]Stat{"WATCH": {Calls: 2000}} })
			f.hangUp()
		}, "started anew", 2005},
		"failover": {func(f *fake) {
			f.do(func() {
				f.fields["role"] = "slave"
				f.fields["master_host"] = "other"
				f.fields["master_port"] = "6379"
			})
			f.use("MULTI", 1000)
		}, "became a replica of other:6379", 5},
		"failover and back": {func(f *fake) {
			f.do(func() { f.fields["master_replid"], f.fields["master_replid2"] = "repl-3", "repl-2" })
		}, "was a replica in between", 5},
		"gone": {func(f *fake) {
			f.do(func() { f.down = true })
			f.hangUp()
		}, "could not be asked since", 5},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				r := ran(t, f, Config{}, func(second int) {
					switch second {
					case 2:
						f.use("WATCH", 5)
					case 4:
						test.change(f)
					}
				})
				assert.Equal(t, Incomplete, r.Verdict)
				assert.Equal(t, 1, r.Verdict.ExitCode())
				assert.Contains(t, strings.Join(r.Incomplete, "\n"), test.why)
				assert.Equal(t, test.uses, r.Uses, "what was seen is told nevertheless")
			})
		})
	}
}

// A lost connection is no gap: the server goes on counting.
func TestLostConnectionIsNoGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		r := ran(t, f, Config{}, func(second int) {
			switch second {
			case 4:
				f.do(func() { f.down = true })
				f.hangUp()
				f.use("WATCH", 3)
			case 7:
				f.do(func() { f.down = false })
			}
		})
		assert.Equal(t, Findings, r.Verdict, r.Incomplete)
		assert.Equal(t, int64(3), r.Uses)
		assert.Equal(t, int64(3), r.Commands)
	})
}

func TestEarlyEndIsIncomplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r, err := tried(ctx, fakes{"redis:6379": f}, Config{For: time.Hour}, at(3, func() {
			f.use("WATCH", 3)
			cancel()
		}))
		require.NoError(t, err)
		assert.Equal(t, Incomplete, r.Verdict)
		assert.Equal(t, int64(3), r.Uses, "the last look is taken after the end")
		assert.Contains(t, r.Incomplete[0], "ended early, 59m57s before its time")
	})
}

func TestSetupErrors(t *testing.T) {
	for name, test := range map[string]struct {
		change func(f *fake)
		want   string
	}{
		"replica": {func(f *fake) {
			f.fields["role"], f.fields["master_host"], f.fields["master_port"] = "slave", "10.0.0.1", "6380"
		}, "ask its primary: 10.0.0.1:6380"},
		"sentinel": {func(f *fake) {
			f.fields["redis_mode"] = "sentinel"
			f.fields["master0"] = "name=main,status=ok,address=10.0.0.1:6379,slaves=1,sentinels=3"
		}, "ask the primary that it watches: 10.0.0.1:6379"},
		"proxy that refuses": {func(f *fake) { f.deny["INFO"] = "ERR handle request, command 'INFO' is not allowed" },
			"ask the servers behind it"},
		"renamed": {
			func(f *fake) { f.deny["INFO"] = "ERR unknown command 'INFO', with args beginning with: " },
			"another name for INFO",
		},
		"proxy that answers": {func(f *fake) { delete(f.fields, "run_id") }, "ask the servers behind it"},
		"no counts":          {func(f *fake) { f.stats = map[string]Stat{} }, ""},
		"no right": {func(f *fake) { f.deny["INFO"] = "NOPERM this user has no permissions to run the 'info' command" },
			"ACL SETUSER default resetkeys"},
		"no password": {func(f *fake) { f.deny["INFO"] = "NOAUTH Authentication required." }, "it wants a password"},
		"loading":     {func(f *fake) { f.deny["INFO"] = "LOADING Redis is loading the dataset in memory" }, "try again later"},
		"down":        {func(f *fake) { f.down = true }, "no connection"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				test.change(f)
				r, err := tried(t.Context(), fakes{"redis:6379": f}, Config{}, nil)
				if test.want == "" { // the second look counts our own INFO
					require.NoError(t, err)
					return
				}
				var setup *SetupError
				require.ErrorAs(t, err, &setup)
				assert.Nil(t, r)
				assert.ErrorContains(t, err, test.want)
			})
		})
	}
}

func TestReplicasAreOptIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.fields["role"] = "slave"
		r := ran(t, f, Config{Replicas: true}, at(2, func() { f.use("WATCH", 1) }))
		assert.Equal(t, Findings, r.Verdict)
		assert.Contains(t, strings.Join(r.Notes, "\n"), "is a replica")
	})
}

// A missing right is named, and the counts are reported.
func TestMissingRightsAreNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.fields["pubsub_channels"] = "2"
		const no = "NOPERM User watcher has no permissions to run the command"
		f.deny = map[string]string{"CLIENT LIST": no, "CLIENT SETNAME": no, "ACL LOG": no, "MONITOR": no}
		r := ran(t, f, Config{Monitor: &MonitorConfig{}}, at(3, func() { f.use("WATCH", 2) }))
		var do []string
		for _, u := range r.Unseen {
			do = append(do, u.Do)
		}
		assert.Equal(t, []string{
			"ACL SETUSER watcher +acl|log", "ACL SETUSER watcher +client|list", "ACL SETUSER watcher +monitor",
		}, do)
		assert.Equal(t, int64(2), r.Uses)
		assert.Equal(t, int64(2), r.Commands, "what was refused to us is not counted either")
		assert.Equal(t, 2, found(r, "SUBSCRIBE").Held, "INFO tells of subscriptions as well")
		assert.Equal(t, Incomplete, r.Verdict, "MONITOR was asked for")
		lists := 0
		for _, args := range f.received {
			if strings.EqualFold(strings.Join(args, " "), "client list") {
				lists++
			}
		}
		assert.Equal(t, 1, lists, "each refusal is an entry of ACL LOG")
	})
}

func TestACLLogNamesClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		old := Denied{ID: 1, Count: 3, Reason: "command", Context: "toplevel", Object: "publish", Username: "desk"}
		f.log = []Denied{old}
		r := ran(t, f, Config{}, at(3, func() {
			f.do(func() {
				f.log = []Denied{{ID: 2, Count: 4, Reason: "command", Context: "lua", Object: "watch", Username: "desk"}, old}
			})
		}))
		assert.Equal(t, Findings, r.Verdict)
		assert.Nil(t, found(r, "PUBLISH"), "that was before")
		require.Len(t, r.Denied, 1)
		assert.Equal(t, "lua", r.Denied[0].Context)
		assert.Equal(t, Stat{Rejected: 4}, found(r, "WATCH").Stat)
		assert.Equal(t, "desk", found(r, "WATCH").From[0].Name)
	})
}

func TestClusterPrimariesAreFound(t *testing.T) {
	const nodes = "a redis:6379@1 myself,master - 0 0 1 connected 0-1\nb two:6379@1 master - 0 0 1 connected 2-3\n" +
		"c three:6379@1 slave a 0 0 1 connected\nd four:6379@1 master,fail - 0 0 1 connected\n"
	start := func() fakes {
		one, two := newFake(), newFake()
		two.fields["run_id"] = "run-2"
		one.fields["cluster_enabled"], two.fields["cluster_enabled"] = "1", "1"
		one.nodes = nodes
		two.nodes = strings.NewReplacer("myself,", "", "two:6379@1 master", "two:6379@1 myself,master").Replace(nodes)
		return fakes{"redis:6379": one, "two:6379": two}
	}
	synctest.Test(t, func(t *testing.T) {
		f := start()
		r, err := tried(t.Context(), f, Config{}, at(3, func() { f["two:6379"].use("WATCH", 2) }))
		require.NoError(t, err)
		assert.Equal(t, Findings, r.Verdict, r.Incomplete)
		assert.Len(t, r.Servers, 2)
		assert.Equal(t, map[string]Stat{"two:6379": {Calls: 2}}, found(r, "WATCH").Servers)

		r, err = tried(t.Context(), start(), Config{OnlyThese: true}, nil)
		require.NoError(t, err)
		assert.Len(t, r.Servers, 1)

		f = start()
		delete(f, "two:6379")
		r, err = tried(t.Context(), f, Config{}, nil)
		require.NoError(t, err)
		assert.Contains(t, strings.Join(r.Incomplete, "\n"), "another server of the cluster could not be asked: two:6379")
	})
}

// A server with two addresses counts once.
func TestSameServerCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		all := fakes{"redis:6379": f, "alias:6379": f}
		r, err := Run(t.Context(), []Address{{Host: "redis:6379"}, {Host: "alias:6379"}}, Config{
			For: 1500 * time.Millisecond, Dial: all.dial, Progress: func(Progress) { f.use("WATCH", 1) },
		})
		require.NoError(t, err)
		assert.Equal(t, int64(2), r.Uses)
		assert.Contains(t, r.Notes, "alias:6379 is the same server as redis:6379")
	})
}

// A long CLIENT LIST takes a hundredth of the time. A short one is sent at each look, at any round
// trip.
func TestLongClientListsAreRare(t *testing.T) {
	for clients, want := range map[int]int{10: 61, 5000: 4} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			f.slow = 200 * time.Millisecond
			for i := range clients {
				f.clients = append(f.clients, clientLine(i, "desk", "flags=N multi=-1 cmd=get"))
			}
			r := ran(t, f, Config{For: time.Minute + 500*time.Millisecond}, nil)
			assert.InDelta(t, want, r.Servers[0].Lists, 1)
			assert.Equal(t, clients, r.Clients)
			assert.GreaterOrEqual(t, r.Servers[0].Looks, 60, "counting goes on")
		})
	}
}

// A hanging server delays a run by the timeout at most.
func TestHangingServerIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		began := time.Now()
		r := ran(t, f, Config{For: 20 * time.Second, Timeout: 2 * time.Second}, at(3, func() {
			f.use("WATCH", 1)
			f.do(func() { f.slow = time.Hour })
		}))
		assert.Less(t, time.Since(began), 30*time.Second)
		assert.Equal(t, int64(1), r.Uses, "INFO was answered")
		assert.Equal(t, Findings, r.Verdict, r.Incomplete)
		lists := 0
		for _, args := range f.received {
			if strings.EqualFold(strings.Join(args, " "), "client list") {
				lists++
			}
		}
		assert.Equal(t, 5, lists, "what takes too long is not tried again soon")
		time.Sleep(time.Hour) // ends the fake's wait
	})
}

func TestConfigErrors(t *testing.T) {
	_, err := Run(t.Context(), []Address{{Host: "redis:6379"}}, Config{Profile: proxycompat.Redis()})
	require.ErrorContains(t, err, "refuses nothing")
	_, err = Run(t.Context(), nil, Config{})
	require.ErrorContains(t, err, "no address")
	_, err = Run(t.Context(), nil, Config{For: -1})
	require.ErrorContains(t, err, "For, Every and Timeout must not be negative")
}
