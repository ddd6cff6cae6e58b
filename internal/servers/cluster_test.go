package servers

import (
	"strings"
	"testing"
)

// A key belongs to one node, and the others say to which.
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
