package peers

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/lock"
	"github.com/unwatch/unwatch/lock/driver"
	"github.com/unwatch/unwatch/lock/locktest"
)

// A lock and its release send as many requests as the tests of the Lockers have counted.
func TestLongRequestsAreCounted(t *testing.T) {
	long.Only(t)
	nodes := []string{servers.Redis(t).Addr, servers.Redis(t).Addr, servers.Redis(t).Addr}
	for impl, tc := range map[string]struct {
		addr  string
		want  int64
		first int64 // that of a new name, and of Close
	}{
		"lock-redis":      {nodes[0], 2, 2},
		"lock-redlock":    {strings.Join(nodes, ","), 6, 6},
		"lock-etcd":       {servers.Etcd(t, 1)[0].Addr, 2, 2},
		"lock-zookeeper":  {servers.ZooKeeper(t, 1)[0].Addr, 4, 6 + 1}, // Close ends the session
		"lock-postgresql": {servers.Postgres(t).Addr, 2, 2},
		"lock-mariadb":    {servers.MariaDB(t).Addr, 2, 5},
		"lock-sqlite":     {filepath.Join(t.TempDir(), "locks.db"), 2, 2},
	} {
		const many = 20
		ok := false
		for try := 0; try < 5 && !ok; try++ { // on a busy machine a lock is handed on, or a late node of Redlock is asked again
			each, first := requests(t, impl, Options{Addr: tc.addr, Dir: t.TempDir()}, many, fmt.Sprint("new", try))
			// Releases are asynchronous, and there may be a ping.
			ok = each >= many*tc.want-tc.want && each <= many*tc.want+tc.want && first >= tc.first && first <= tc.first+1
			t.Logf("%s: %d requests for %d sections, want %d each; %d for one of a new name, want %d", impl, each, many, tc.want, first, tc.first)
		}
		if !ok {
			t.Errorf("%s: other numbers of requests than wanted", impl)
		}
	}
}

// requests returns the numbers of requests for this many sections of names that were used before, and for one of
// another name and Close.
func requests(t *testing.T, impl string, o Options, many int, name string) (each, first int64) {
	t.Helper()
	var n atomic.Int64
	o.Commands = &n
	s, err := Open(impl, o)
	if err != nil {
		t.Fatal(err)
	}
	update := func() int64 {
		before := n.Load()
		for i := range many { // the next section of the same name might begin before the release is sent
			if err := s.Update(t.Context(), []string{"a", "b", "c", "d"}[i%4], appendX); err != nil {
				t.Fatalf("%s: %v", impl, err)
			}
		}
		return n.Load() - before
	}
	update() // opens connections, loads scripts, and makes the row or the node of the lock
	each = update()
	before := n.Load()
	if err := errors.Join(s.Update(t.Context(), name, appendX), s.Close()); err != nil {
		t.Error(err)
	}
	return each, n.Load() - before
}

func appendX(old []byte) ([]byte, error) { return append(old, 'x'), nil }

// openMemory returns a section of a process of its own.
func openMemory(dir string, locks lock.Locker, process int64) *section {
	return &section{locks: locks, dir: dir, process: process}
}

// A hand-over is the time from the end of a section to the start of the next one, in another process that waited.
func TestHandovers(t *testing.T) {
	dir, memory := t.TempDir(), locktest.NewMemory(driver.Config{})
	ada, bob := openMemory(dir, memory, 1), openMemory(dir, memory.Peer(), 2)
	update := func(s *section, fn func([]byte) ([]byte, error)) {
		t.Helper()
		if err := s.Update(t.Context(), "k", fn); err != nil {
			t.Error(err)
		}
	}
	update(ada, appendX)
	update(ada, appendX) // no other process
	update(bob, appendX) // it did not wait
	for _, s := range []*section{ada, bob} {
		if n := s.Handovers().N(); n != 0 {
			t.Errorf("%d hand-overs without a wait", n)
		}
	}
	if ada.Last("k") || !bob.Last("k") {
		t.Error("the last section is bob's")
	}

	var waits sync.WaitGroup
	defer waits.Wait()
	update(ada, func(old []byte) ([]byte, error) {
		if !ada.Last("k") || bob.Last("k") {
			t.Error("the section of ada has begun")
		}
		asked := make(chan struct{})
		waits.Go(func() {
			close(asked)
			update(bob, appendX)
		})
		<-asked
		for waiting := false; !waiting; {
			info, err := memory.Inspect(t.Context(), filepath.Base(dir)+":k")
			if err != nil {
				t.Error(err)
			}
			waiting = info.Waiters
		}
		return appendX(old)
	})
	waits.Wait()
	if ada.Handovers().N() != 0 || bob.Handovers().N() != 1 || bob.Handovers().Max() > time.Minute {
		t.Errorf("bob waited once: %d and %d hand-overs", ada.Handovers().N(), bob.Handovers().N())
	}
	if got, err := Document(dir, "k"); string(got) != "xxxxx" || err != nil {
		t.Errorf("stored %q, %v", got, err)
	}
	if got, err := Document(dir, "absent"); got != nil || err != nil {
		t.Errorf("an absent key has %q, %v", got, err)
	}
}

// Negative control: sections that do not exclude each other lose updates.
func TestOverlapsLoseUpdates(t *testing.T) {
	dir := t.TempDir()
	ada, bob := openMemory(dir, free{}, 1), openMemory(dir, free{}, 2)
	err := ada.Update(t.Context(), "k", func(old []byte) ([]byte, error) {
		if err := bob.Update(t.Context(), "k", appendX); err != nil {
			t.Error(err)
		}
		return appendX(old)
	})
	if got, _ := Document(dir, "k"); string(got) != "x" || err != nil {
		t.Errorf("stored %q, %v", got, err)
	}
}

// free is a Locker without mutual exclusion.
type free struct{ lock.Locker }

func (free) WithLock(ctx context.Context, _ string, fn func(context.Context) error) error {
	return fn(ctx)
}
