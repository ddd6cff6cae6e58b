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

	"github.com/unwatch/unwatch/proxycompat"
)

// ran observes a server for ten seconds of fake time, and calls step every second.
func ran(t *testing.T, f *fake, cfg Config, step func(second int)) *Report {
	t.Helper()
	r, err := tried(t, fakes{"redis:6379": f}, cfg, step)
	require.NoError(t, err)
	return r
}

func tried(t *testing.T, f fakes, cfg Config, step func(second int), addresses ...Address) (r *Report, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { r, err = observe(t.Context(), f, cfg, step, addresses...) })
	return r, err
}

func observe(ctx context.Context, f fakes, cfg Config, step func(second int), addresses ...Address) (*Report, error) {
	if cfg.For == 0 {
		cfg.For = 10500 * time.Millisecond
	}
	if cfg.Dial == nil {
		cfg.Dial = f.dial
	}
	if addresses == nil {
		addresses = []Address{{Host: "redis:6379"}}
	}
	second := 0
	cfg.Progress = func(Progress) {
		if step != nil {
			step(second)
		}
		second++
	}
	defer time.Sleep(time.Hour) // ends the waits of a slow fake
	return Run(ctx, addresses, cfg)
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
		f := newFake()
		f.fields["redis_version"] = version
		r := ran(t, f, Config{Strict: true, Monitor: &MonitorConfig{}}, nil)
		assert.Equal(t, Clean, r.Verdict, r.Incomplete)
		assert.Empty(t, r.Findings)
		assert.Zero(t, r.Commands)
		assert.Greater(t, r.Own, int64(30))
		assert.Equal(t, 12, r.Servers[0].Looks)
		assert.Equal(t, "0 uses in 11 s of 0 commands from 0 clients on 1 server", r.Summary)
	}
}

func TestUsesAreCounted(t *testing.T) {
	f := newFake()
	r := ran(t, f, Config{}, at(3, func() {
		f.use("WATCH", 7)
		f.use("GET", 93)
		f.add("EXEC", Stat{Calls: 5, Rejected: 2, Failed: 1})
		f.use("SINTER", 3)
		f.use("CONFIG GET", 4)
		f.use("HELLO", 6)
		f.use("REPLCONF", 10)
		f.use("INFO", 10) // by others; none is taken for ours
		f.clients = []string{
			clientLine(9, "desk", "flags=x multi=2 cmd=watch"), clientLine(8, "desk", "flags=N multi=-1 cmd=watch"),
			// A last command from before the window is no evidence of a use within it.
			strings.Replace(clientLine(7, "old", "flags=N multi=-1 cmd=watch"), "idle=0", "idle=900", 1),
		}
	}))
	assert.Equal(t, Findings, r.Verdict)
	assert.Equal(t, 3, r.Verdict.ExitCode())
	assert.Equal(t, "14 uses in 11 s of 140 commands from 3 clients on 1 server; 1 client in the middle of one", r.Summary)
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
}

func TestStrictReportsAdministration(t *testing.T) {
	f := newFake()
	r := ran(t, f, Config{Strict: true}, at(3, func() { f.use("CONFIG GET", 4) }))
	assert.Equal(t, Findings, r.Verdict)
	assert.Equal(t, int64(4), r.Uses)
}

// A subscriber from before the window is found, although it sends nothing, and whatever its name.
func TestEarlierSubscribersAreFound(t *testing.T) {
	for _, name := range []string{"feed", ownName + "false"} {
		f := newFake()
		f.clients = []string{clientLine(9, name, "flags=P sub=2 multi=-1 cmd=subscribe")}
		r := ran(t, f, Config{}, nil)
		assert.Equal(t, Findings, r.Verdict)
		assert.Equal(t, "0 uses in 11 s of 0 commands from 1 client on 1 server; 1 client in the middle of one", r.Summary)
		assert.Equal(t, name, found(r, "SUBSCRIBE").From[0].Name)
	}
}

func TestEarlyEndIsIncomplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r, err := observe(ctx, fakes{"redis:6379": f}, Config{For: time.Hour}, at(3, func() {
			f.use("WATCH", 3)
			cancel()
		}))
		require.NoError(t, err)
		assert.Equal(t, Incomplete, r.Verdict)
		assert.Equal(t, int64(3), r.Uses, "the last look is taken after the end")
		assert.Contains(t, r.Incomplete[0], "ended early, 59m57s before its time")
	})
}

// Cancelling does not wait for a hanging server, with any timeout.
func TestCancelDoesNotWaitForHangingServer(t *testing.T) {
	for _, second := range []int{0, 3} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			f.hang = second == 0
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			took := time.Duration(second)*time.Second + 5*time.Second
			began := time.Now()
			time.AfterFunc(took, func() { // during a command
				f.mu.Lock()
				f.hang = false
				f.mu.Unlock()
				cancel()
			})
			r, err := Run(ctx, []Address{{Host: "redis:6379"}}, Config{
				For: time.Hour, Timeout: 20 * time.Minute, Dial: fakes{"redis:6379": f}.dial,
				Progress: func(p Progress) { f.hang = p.Elapsed == 3*time.Second },
			})
			assert.Equal(t, took, time.Since(began))
			if second == 0 {
				require.ErrorIs(t, err, context.Canceled)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, Incomplete, r.Verdict)
		})
	}
}

func TestSetupErrors(t *testing.T) {
	field := func(pairs ...string) func(f *fake) {
		return func(f *fake) {
			for i := 0; i < len(pairs); i += 2 {
				f.fields[pairs[i]] = pairs[i+1]
			}
		}
	}
	without := func(name string) func(f *fake) { return func(f *fake) { delete(f.fields, name) } }
	deny := func(command, text string) func(f *fake) { return func(f *fake) { f.deny[command] = text } }
	for name, test := range map[string]struct {
		change func(f *fake)
		want   string
	}{
		"replica": {field("role", "slave", "master_host", "10.0.0.1", "master_port", "6380"), "ask its primary: 10.0.0.1:6380"},
		"sentinel": {
			field("redis_mode", "sentinel", "master0", "name=main,status=ok,address=10.0.0.1:6379,slaves=1,sentinels=3"),
			"ask the primary that it watches: 10.0.0.1:6379",
		},
		"proxy that refuses": {deny("INFO", "ERR handle request, command 'INFO' is not allowed"), "ask the servers behind it"},
		"renamed":            {deny("INFO", "ERR unknown command 'INFO', with args beginning with: "), "another name for INFO"},
		"proxy that answers": {without("run_id"), "ask the servers behind it"},
		"without a role":     {without("role"), "does not tell whether this is a primary"},
		"no right": {
			deny("INFO", "NOPERM this user has no permissions to run the 'info' command"), "ACL SETUSER default resetkeys",
		},
		"no password": {deny("INFO", "NOAUTH Authentication required."), "it wants a password"},
		"loading":     {deny("INFO", "LOADING Redis is loading the dataset in memory"), "try again later"},
		"down":        {func(f *fake) { f.down = true }, "no connection"},
		"too many clients": { // it is not mistaken for a proxy
			deny("CLIENT SETNAME", "ERR max number of clients reached"), "it does not let us in: ERR max number of clients reached",
		},
	} {
		f := newFake()
		test.change(f)
		r, err := tried(t, fakes{"redis:6379": f}, Config{}, nil)
		var setup *SetupError
		require.ErrorAs(t, err, &setup, name)
		assert.Nil(t, r)
		assert.ErrorContains(t, err, test.want, name)
	}
}

func TestReplicasAreOptIn(t *testing.T) {
	f := newFake()
	f.fields["role"] = "slave"
	r := ran(t, f, Config{Replicas: true}, at(2, func() { f.use("WATCH", 1) }))
	assert.Equal(t, Findings, r.Verdict)
	assert.Contains(t, strings.Join(r.Notes, "\n"), "is a replica")
}

// A missing right is named, and the counts are reported.
func TestMissingRightsAreNamed(t *testing.T) {
	f := newFake()
	f.fields["pubsub_channels"] = "2"
	f.deny = map[string]string{"CLIENT LIST": noRight, "CLIENT SETNAME": noRight, "ACL LOG": noRight, "MONITOR": noRight}
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
	assert.Equal(t, 1, f.lists(), "each refusal is an entry of ACL LOG")
}

func TestACLLogNamesClients(t *testing.T) {
	f := newFake()
	old := Denied{ID: 1, Count: 3, Reason: "command", Context: "toplevel", Object: "publish", Username: "desk"}
	f.log = []Denied{old}
	r := ran(t, f, Config{}, at(3, func() {
		f.log = []Denied{{ID: 2, Count: 4, Reason: "command", Context: "lua", Object: "watch", Username: "desk"}, old}
	}))
	assert.Equal(t, Findings, r.Verdict)
	assert.Nil(t, found(r, "PUBLISH"), "that was before")
	require.Len(t, r.Denied, 1)
	assert.Equal(t, "lua", r.Denied[0].Context)
	assert.Equal(t, Stat{Rejected: 4}, found(r, "WATCH").Stat)
	assert.Equal(t, "desk", found(r, "WATCH").From[0].Name)
}

// Redis 6.0 does not count rejected commands, so the report needs all of ACL LOG.
func TestOldServerNeedsACLLog(t *testing.T) {
	f := newFake()
	f.fields["redis_version"] = "6.0.16"
	r := ran(t, f, Config{}, at(3, func() {
		f.use("WATCH", 3)
		f.log = []Denied{
			{ID: 2, Count: 4, Reason: "command", Context: "lua", Object: "watch", Username: "desk"},
			{ID: 1, Count: 2, Reason: "command", Context: "toplevel", Object: "watch", Username: "desk"},
		}
	}))
	assert.Equal(t, Stat{Calls: 3, Rejected: 6}, found(r, "WATCH").Stat)
	assert.Equal(t, int64(9), r.Uses)
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
	f := start()
	r, err := tried(t, f, Config{}, at(3, func() { f["two:6379"].use("WATCH", 2) }))
	require.NoError(t, err)
	assert.Equal(t, Findings, r.Verdict, r.Incomplete)
	assert.Len(t, r.Servers, 2)
	assert.Equal(t, map[string]Stat{"two:6379": {Calls: 2}}, found(r, "WATCH").Servers)

	r, err = tried(t, start(), Config{OnlyThese: true}, nil)
	require.NoError(t, err)
	assert.Len(t, r.Servers, 1)

	f = start()
	delete(f, "two:6379")
	r, err = tried(t, f, Config{}, nil)
	require.NoError(t, err)
	assert.Contains(t, strings.Join(r.Incomplete, "\n"), "another server of the cluster could not be asked: two:6379")
}

// A server with two addresses counts once.
func TestSameServerCountsOnce(t *testing.T) {
	f := newFake()
	r, err := tried(t, fakes{"redis:6379": f, "alias:6379": f}, Config{For: 1500 * time.Millisecond},
		func(int) { f.use("WATCH", 1) }, Address{Host: "redis:6379"}, Address{Host: "alias:6379"})
	require.NoError(t, err)
	assert.Equal(t, int64(2), r.Uses)
	assert.Contains(t, r.Notes, "alias:6379 is the same server as redis:6379")
}

// An unknown number of servers may be behind one address.
func TestSharedAddressIsIncomplete(t *testing.T) {
	one, two := newFake(), newFake()
	two.fields["run_id"] = "run-2"
	dials := 0
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		dials++
		return fakes{addr: []*fake{one, two}[dials%2]}.dial(ctx, network, addr)
	}
	r, err := tried(t, nil, Config{For: 1500 * time.Millisecond, Dial: dial}, func(int) {
		one.use("WATCH", 1)
		two.use("WATCH", 2)
	}, Address{Host: "redis:6379"}, Address{Host: "redis:6379"})
	require.NoError(t, err)
	assert.Equal(t, Incomplete, r.Verdict)
	assert.Contains(t, r.Incomplete[0], "is the address of several servers")
	assert.Equal(t, map[string]Stat{"redis:6379": {Calls: 6}}, found(r, "WATCH").Servers)
	var out strings.Builder
	require.NoError(t, r.WritePrometheus(&out))
	assert.Equal(t, 1, strings.Count(out.String(), "\nmigrate_check_commands_total{"))
}

// Valkey has its own names for some fields of INFO.
func TestValkey(t *testing.T) {
	valkey := func() *fake {
		f := newFake()
		delete(f.fields, "redis_mode")
		f.fields["server_mode"], f.fields["server_name"], f.fields["valkey_version"] = "standalone", "valkey", "8.0.1"
		return f
	}
	var out strings.Builder
	r := ran(t, valkey(), Config{}, nil)
	assert.Equal(t, Clean, r.Verdict, r.Incomplete)
	require.NoError(t, r.WriteText(&out))
	assert.Contains(t, out.String(), "redis:6379: valkey 8.0.1, master")

	f := valkey()
	f.fields["server_mode"] = "sentinel"
	_, err := tried(t, fakes{"redis:6379": f}, Config{}, nil)
	require.ErrorContains(t, err, "this is a sentinel")
}

// A long CLIENT LIST takes a hundredth of the time. A short one is sent at each look, at any round
// trip.
func TestLongClientListsAreRare(t *testing.T) {
	for clients, want := range map[int]int{10: 61, 5000: 4} {
		f := newFake()
		f.slow = 200 * time.Millisecond
		for i := range clients {
			f.clients = append(f.clients, clientLine(i, "desk", "flags=N multi=-1 cmd=get"))
		}
		r := ran(t, f, Config{For: time.Minute + 500*time.Millisecond}, nil)
		assert.InDelta(t, want, r.Servers[0].Lists, 1)
		assert.Equal(t, clients, r.Clients)
		assert.GreaterOrEqual(t, r.Servers[0].Looks, 60, "counting goes on")
	}
}

// A hanging server delays a run by the timeout at most.
func TestHangingServerIsBounded(t *testing.T) {
	f := newFake()
	r := ran(t, f, Config{For: 20 * time.Second, Timeout: 2 * time.Second}, at(3, func() {
		f.use("WATCH", 1)
		f.slow = time.Hour
	}))
	assert.Less(t, r.Ended.Sub(r.Began), 30*time.Second)
	assert.Equal(t, int64(1), r.Uses, "INFO was answered")
	assert.Equal(t, Findings, r.Verdict, r.Incomplete)
	assert.Equal(t, 5, f.lists(), "what takes too long is not tried again soon")
}

func TestConfigErrors(t *testing.T) {
	_, err := Run(t.Context(), []Address{{Host: "redis:6379"}}, Config{Profile: proxycompat.Redis()})
	require.ErrorContains(t, err, "refuses nothing")
	_, err = Run(t.Context(), nil, Config{})
	require.ErrorContains(t, err, "no address")
	_, err = Run(t.Context(), nil, Config{For: -1})
	require.ErrorContains(t, err, "For, Every and Timeout must not be negative")
}
