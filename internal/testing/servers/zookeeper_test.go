package servers

import (
	"testing"

	"github.com/unwatch/unwatch/internal/testing/long"
)

// One of three members leads. When it is killed another one does, and it rejoins after its restart.
func TestLongZooKeeperSurvivesLossOfItsLeader(t *testing.T) {
	long.Only(t)
	all := ZooKeeper(t, 3)
	leader := -1
	for i, s := range all {
		mode, err := ZooKeeperMode(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if mode == "leader" {
			leader = i
		}
	}
	if leader < 0 {
		t.Fatal("no member leads")
	}
	old := all[leader]
	old.Stop()
	until(t, "another member leads", func() bool {
		for i, s := range all {
			if mode, _ := ZooKeeperMode(t.Context(), s); i != leader && mode == "leader" {
				return true
			}
		}
		return false
	})
	if err := old.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if mode, err := ZooKeeperMode(t.Context(), old); err != nil || mode != "follower" {
		t.Fatalf("the restarted member is a %q, %v", mode, err)
	}
}

func TestZooKeeperAlone(t *testing.T) {
	mode, err := ZooKeeperMode(t.Context(), ZooKeeper(t, 1)[0])
	if err != nil || mode != "standalone" {
		t.Fatalf("the only member is %q, %v", mode, err)
	}
}
