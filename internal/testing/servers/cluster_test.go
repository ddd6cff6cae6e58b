package servers

import (
	"slices"
	"strings"
	"testing"

	"github.com/unwatch/unwatch/internal/testing/long"
)

// A key belongs to one node, and the others redirect to it.
func TestClusterAnswersForItsSlots(t *testing.T) {
	nodes := Cluster(t, 3)
	served, moved := 0, 0
	for _, node := range nodes {
		switch got := ask(t, node.Addr, "SET", "k", "v"); {
		case got == "+OK":
			served++
		case strings.HasPrefix(got, "-MOVED "):
			moved++
		default:
			t.Errorf("SET answered %q", got)
		}
	}
	if served != 1 || moved != 2 {
		t.Fatalf("%d nodes took the key and %d pointed elsewhere, want 1 and 2", served, moved)
	}
}

func TestClusterNeedsThreeMasters(t *testing.T) {
	if _, err := StartCluster(t.Context(), t.TempDir(), 2); err == nil {
		t.Fatal("started with two masters, of which none can outvote the other")
	}
}

// A failover and the failover back lose no acknowledged write.
func TestLongClusterFailover(t *testing.T) {
	t.Parallel() // the test mostly waits
	long.Only(t)
	c := NewClusterNodes(t, 3, 1)
	nodes := c.Servers()
	for _, want := range []*Server{nodes[3], nodes[0]} {
		old, err := c.Owner(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := ask(t, old.Addr, "SET", "{3560}"+want.Addr, "v"); got != "+OK" { // a key of slot 0
			t.Fatalf("SET answered %q", got)
		}
		if now, err := c.Failover(t.Context(), 0); err != nil || now != want {
			t.Fatalf("slot 0 belongs to %v, want %s, error %v", now, want.Addr, err)
		}
		if got := ask(t, want.Addr, "GET", "{3560}"+want.Addr); got != "$1" {
			t.Fatalf("GET answered %q", got)
		}
		if err := c.AwaitOK(t.Context()); err != nil {
			t.Fatal(err)
		}
		if masters, err := c.Masters(t.Context()); err != nil || len(masters) != 3 || !slices.Contains(masters, want) {
			t.Fatalf("the masters are %v, error %v", masters, err)
		}
	}
}

// Replicas have the data of their masters, and one of them takes over.
func TestLongClusterReplicaTakesOver(t *testing.T) {
	t.Parallel() // the test mostly waits
	long.Only(t)
	c := NewClusterNodes(t, 3, 1, "--cluster-node-timeout", "1000")
	if len(c.Servers()) != 6 || len(c.Addrs()) != 6 {
		t.Fatalf("nodes at %v", c.Addrs())
	}
	for i, node := range c.Servers() {
		want := "*3" // of a master
		if i >= 3 {
			want = "*5"
		}
		if got := ask(t, node.Addr, "ROLE"); got != want {
			t.Errorf("node %d answered %q to ROLE, want %q", i, got, want)
		}
	}
	old, err := c.Owner(t.Context(), 0)
	if err != nil || old != c.Servers()[0] {
		t.Fatalf("slot 0 belongs to %v, error %v", old, err)
	}
	if err := old.Kill(); err != nil {
		t.Fatal(err)
	}
	if now, err := c.AwaitTakeover(t.Context(), 0, old); err != nil || now != c.Servers()[3] {
		t.Fatalf("slot 0 belongs to %v, error %v", now, err)
	}
	if err := old.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.AwaitOK(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, old.Addr, "ROLE"); got != "*5" {
		t.Fatalf("the old master came back as %q", got)
	}
	if err := c.MoveSlot(t.Context(), 0, old); err == nil {
		t.Fatal("moved a slot to a replica")
	}
}
