package live

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

const (
	noRight  = "NOPERM User watcher has no permissions to run the command"
	ownNodes = "a redis:6379@1 myself,master - 0 0 1 connected 0-1\n"
)

// A report is incomplete if anything could not be observed, and only then. It has what was seen.
func TestGaps(t *testing.T) {
	set := func(pairs ...string) func(f *fake) {
		return func(f *fake) {
			for i := 0; i < len(pairs); i += 2 {
				f.fields[pairs[i]] = pairs[i+1]
			}
		}
	}
	deny := func(command, text string) func(f *fake) { return func(f *fake) { f.deny[command] = text } }
	cluster := func(f *fake) { f.fields["cluster_enabled"], f.nodes = "1", ownNodes }
	slow := func(f *fake) { f.slow = time.Hour }
	watch5 := func(f *fake) { f.use("WATCH", 5) }
	unseen := func(f *fake) { f.fields["redis_version"], f.deny["ACL LOG"] = "6.0.16", noRight }
	type steps map[int]func(f *fake)
	for name, test := range map[string]struct {
		cfg   Config
		at    steps  // by second; -1: before the run
		why   string // empty: it is complete
		uses  int64
		looks int // 0: any number
	}{
		"reset": {at: steps{2: watch5, 4: func(f *fake) {
			f.stats = map[string]Stat{"WATCH": {Calls: 4}, "CONFIG RESETSTAT": {Calls: 1}}
		}}, why: "counters reset", uses: 9},
		// Every count may be higher than before.
		"reset of a busy server": {at: steps{-1: set("total_commands_processed", "90000"), 3: func(f *fake) {
			f.fields["total_commands_processed"] = "80000"
			f.stats = map[string]Stat{"WATCH": {Calls: 50}, "GET": {Calls: 2000}, "INFO": {Calls: 100}, "CLIENT LIST": {Calls: 100},
				"CLIENT SETNAME": {Calls: 100}, "ACL WHOAMI": {Calls: 100}, "ACL LOG": {Calls: 100}}
		}}, why: "counters reset", uses: 50},
		"restart": {at: steps{2: watch5, 4: func(f *fake) {
			f.fields["run_id"], f.stats = "run-2", map[string]Stat{"WATCH": {Calls: 2000}}
			f.hangUp()
		}}, why: "started anew", uses: 2005},
		"failover": {at: steps{2: watch5, 4: func(f *fake) {
			f.fields["role"], f.fields["master_host"], f.fields["master_port"] = "slave", "other", "6379"
			f.use("MULTI", 1000)
		}}, why: "became a replica of other:6379", uses: 5},
		"failover and back": {
			at: steps{2: watch5, 4: set("master_replid", "repl-3", "master_replid2", "repl-2")}, why: "was a replica in between", uses: 5,
		},
		"gone": {at: steps{2: watch5, 4: func(f *fake) {
			f.down = true
			f.hangUp()
		}}, why: "could not be asked since", uses: 5},
		"no right to CLIENT LIST":       {at: steps{-1: deny("CLIENT LIST", noRight)}, why: "did not show its clients"},
		"CLIENT is another command":     {at: steps{-1: deny("CLIENT LIST", "ERR unknown command")}, why: "did not show its clients"},
		"CLIENT LIST is never answered": {at: steps{-1: slow}, why: "did not show its clients"},
		"no right to ACL LOG, of a server that does not count what it refuses": {at: steps{-1: unseen}, why: "did not show ACL LOG"},
		"the right to ACL LOG is taken away":                                   {at: steps{10: unseen}, why: "did not show ACL LOG"},
		"the right to CLUSTER NODES is taken away": {
			at: steps{-1: cluster, 10: deny("CLUSTER NODES", noRight)}, why: "could not be asked again for the other servers",
		},
		"the right to INFO is taken away": {at: steps{10: deny("INFO", noRight)}, why: "could not be asked since"},
		"a server that joins a cluster and leaves": {cfg: Config{For: time.Hour}, at: steps{
			-1:  cluster,
			600: func(f *fake) { f.nodes = ownNodes + "e five:6379@1 master - 0 0 1 connected 4-5\n" },
			700: func(f *fake) { f.nodes = ownNodes },
		}, why: "other primaries"},

		"a first replica": { // a new replication id without a second one
			at: steps{3: set("master_replid", "repl-2", "master_replid2", "0000000000000000000000000000000000000000")},
		},
		"a module unloaded": {at: steps{
			-1: func(f *fake) { f.stats["FT.SEARCH"] = Stat{Calls: 9} }, 3: func(f *fake) { delete(f.stats, "FT.SEARCH") },
		}},
		"no counts": {at: steps{-1: func(f *fake) { f.stats = map[string]Stat{} }}}, // but of our own INFO
		"CLIENT LIST takes too long at the end": {at: steps{
			-1: func(f *fake) { f.log = []Denied{{ID: 1, Count: 3, Reason: "command", Object: "publish"}} }, 10: slow,
		}},
		"no right to ACL LOG": {at: steps{-1: deny("ACL LOG", noRight)}},
		"a lost connection": {at: steps{
			4: func(f *fake) {
				f.down = true
				f.hangUp()
				f.use("WATCH", 3)
			},
			7: func(f *fake) { f.down = false },
		}, uses: 3},
		"closed idle connections": {cfg: Config{For: 65 * time.Second, Every: 20 * time.Second}, at: steps{
			0: (*fake).hangUp, 1: (*fake).hangUp, 2: (*fake).hangUp, 3: (*fake).hangUp,
		}, looks: 5},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake()
			step := func(second int) {
				if change := test.at[second]; change != nil {
					change(f)
				}
			}
			step(-1)
			r := ran(t, f, test.cfg, step)
			switch {
			case test.why != "":
				assert.Equal(t, Incomplete, r.Verdict)
				assert.Equal(t, 1, r.Verdict.ExitCode())
				assert.Contains(t, strings.Join(r.Incomplete, "\n"), test.why)
			case test.uses > 0:
				assert.Equal(t, Findings, r.Verdict, r.Incomplete)
				assert.Equal(t, test.uses, r.Commands)
			default:
				assert.Equal(t, Clean, r.Verdict, r.Incomplete)
				assert.Zero(t, r.Commands)
			}
			assert.Equal(t, test.uses, r.Uses)
			if test.looks > 0 {
				assert.Equal(t, test.looks, r.Servers[0].Looks)
			}
		})
	}
}
