package live

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const noRight = "NOPERM User watcher has no permissions to run the command"

// A report is not clean if anything could not be observed.
func TestUnseenIsNeverClean(t *testing.T) {
	entry := Denied{ID: 1, Count: 3, Reason: "command", Context: "toplevel", Object: "publish", Username: "desk"}
	for name, test := range map[string]struct {
		change func(f *fake)
		late   func(f *fake) // within the window
		why    string        // empty: it is clean
	}{
		"no right to CLIENT LIST": {change: func(f *fake) { f.deny["CLIENT LIST"] = noRight }, why: "did not show its clients"},
		"CLIENT is another command": {change: func(f *fake) { f.deny["CLIENT LIST"] = "ERR unknown command" },
			why: "did not show its clients"},
		"CLIENT LIST is never through": {change: func(f *fake) { f.slow = time.Hour }, why: "did not show its clients"},
		"CLIENT LIST ends late, with a log": {change: func(f *fake) { f.log = []Denied{entry} },
			late: func(f *fake) { f.slow = time.Hour }},
		"no right to ACL LOG": {change: func(f *fake) { f.deny["ACL LOG"] = noRight }},
		"no right to ACL LOG, of a server that does not count what it refuses": {change: func(f *fake) {
			f.fields["redis_version"] = "6.0.16"
			f.deny["ACL LOG"] = noRight
		}, why: "did not show ACL LOG"},
		"the right to ACL LOG is taken away": {late: func(f *fake) {
			f.fields["redis_version"] = "6.0.16"
			f.deny["ACL LOG"] = noRight
		}, why: "did not show ACL LOG"},
		"the right to CLUSTER NODES is taken away": {change: func(f *fake) {
			f.fields["cluster_enabled"] = "1"
			f.nodes = "a redis:6379@1 myself,master - 0 0 1 connected 0-1\n"
		}, late: func(f *fake) { f.deny["CLUSTER NODES"] = noRight }, why: "could not be asked again for the other servers"},
		"the right to INFO is taken away": {late: func(f *fake) { f.deny["INFO"] = noRight }, why: "could not be asked since"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				if test.change != nil {
					test.change(f)
				}
				r := ran(t, f, Config{}, at(10, func() {
					if test.late != nil {
						f.do(func() { test.late(f) })
					}
				}))
				if test.why == "" {
					assert.Equal(t, Clean, r.Verdict, r.Incomplete)
				} else {
					assert.Equal(t, Incomplete, r.Verdict)
					assert.Contains(t, strings.Join(r.Incomplete, "\n"), test.why)
				}
				<-time.After(time.Hour) // ends the fake's wait
			})
		})
	}
}

// A server may close idle connections, before the last look as well.
func TestClosedIdleConnectionIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		r := ran(t, f, Config{For: 65 * time.Second, Every: 20 * time.Second}, func(int) { f.hangUp() })
		assert.Equal(t, Clean, r.Verdict, r.Incomplete)
		assert.Equal(t, 5, r.Servers[0].Looks)
		assert.Zero(t, r.Commands)
	})
}

// A server that joins and leaves within the window makes the run incomplete.
func TestClusterChangesAreIncomplete(t *testing.T) {
	const own = "a redis:6379@1 myself,master - 0 0 1 connected 0-1\n"
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.fields["cluster_enabled"], f.nodes = "1", own
		r := ran(t, f, Config{For: time.Hour}, func(second int) {
			switch second {
			case 600:
				f.do(func() { f.nodes = own + "e five:6379@1 master - 0 0 1 connected 4-5\n" })
			case 700:
				f.do(func() { f.nodes = own })
			}
		})
		assert.Equal(t, Incomplete, r.Verdict)
		assert.Contains(t, r.Incomplete[0], "other primaries")
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
			ended := time.Now().Add(time.Duration(second)*time.Second + 5*time.Second)
			time.AfterFunc(time.Until(ended), func() {
				f.do(func() { f.hang = false })
				cancel()
			})
			r, err := tried(ctx, fakes{"redis:6379": f}, Config{For: time.Hour, Timeout: 20 * time.Minute}, at(second, func() {
				f.do(func() { f.hang = true })
			}))
			assert.Equal(t, ended, time.Now())
			if second == 0 {
				require.ErrorIs(t, err, context.Canceled)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, Incomplete, r.Verdict)
		})
	}
}
