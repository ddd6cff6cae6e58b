package plan

import (
	"testing"

	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/internal/testing/servers"
)

// Over real servers, sections under every lock service exclude each other, are counted, and are handed over.
func TestLongLockServices(t *testing.T) {
	long.Only(t)
	for _, s := range []*servers.Server{ // skips or fails without a server
		servers.Redis(t), servers.Etcd(t, 1)[0], servers.ZooKeeper(t, 1)[0], servers.Postgres(t), servers.MariaDB(t),
	} {
		s.Stop()
	}
	f := measure(t, "lock-.*", ".*")
	if len(f.Slots) != 3*len(lockServices()) {
		t.Errorf("%d slots", len(f.Slots))
	}
	for i := range f.Slots {
		s := &f.Slots[i]
		if s.Refused != "" || s.Crashed != "" || s.Err() != "" {
			t.Errorf("%s %s: refused %q, crashed %q, error %q", s.Scenario, s.Impl, s.Refused, s.Crashed, s.Err())
			continue
		}
		// On a hot key, sections of one process may follow each other under one lock.
		if s.Done() == 0 || s.Stored != s.Done() || s.Commands() == 0 || s.Commands() < s.Done() && s.Scenario != "lock-hot" {
			t.Errorf("%s %s: %d done, %d stored, %d requests", s.Scenario, s.Impl, s.Done(), s.Stored, s.Commands())
		}
		// A slow machine has time for few sections, all of one process.
		handed, enough := s.Handovers().N(), s.Done() >= 10
		if s.Scenario == "lock-turns" && enough && handed == 0 || s.Scenario == "lock-free" && handed > 0 {
			t.Errorf("%s %s: %d hand-overs", s.Scenario, s.Impl, handed)
		}
	}
}
