package servers

import (
	"slices"
	"testing"

	"github.com/unwatch/unwatch/internal/testing/long"
)

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
