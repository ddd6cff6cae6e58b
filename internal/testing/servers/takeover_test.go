package servers

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/unwatch/unwatch/internal/resp"
	"github.com/unwatch/unwatch/internal/testing/long"
)

// wins is the line of a log when a replica takes over.
const wins = "Failover election won"

// A limit of Redis: a replica that takes over twice within 2 × cluster-node-timeout wins without an election
// the second time, and loses the writes that it acknowledges until the other nodes tell it so. Failover
// refuses such a takeover.
func TestLongLimitOfTwoTakeovers(t *testing.T) {
	t.Parallel() // the test mostly waits
	long.Only(t)
	const slot = 0
	c := NewClusterNodes(t, 3, 1, "--cluster-node-timeout", "30000")
	first, second := c.Servers()[0], c.Servers()[3]
	for _, want := range []*Server{second, first} {
		if now, err := c.Failover(t.Context(), slot); err != nil || now != want {
			t.Fatalf("slot %d belongs to %v, want %s, error %v", slot, now, want.Addr, err)
		}
		if err := c.AwaitOK(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if now, err := c.Failover(t.Context(), slot); !errors.Is(err, ErrResting) {
		t.Fatalf("slot %d belongs to %v, error %v, want %v", slot, now, err, ErrResting)
	}

	// A takeover may be over before a write reaches the replica.
	for try := range 5 {
		acknowledged := c.takeOverAgain(t, second, strconv.Itoa(try))
		if n := strings.Count(second.Log(), electionBegins); n != 1 {
			t.Fatalf("%s began %d elections, want 1", second.Addr, n)
		}
		if err := c.AwaitOK(t.Context()); err != nil {
			t.Fatal(err)
		}
		if now, err := c.Owner(t.Context(), slot); err != nil || now != first {
			t.Fatalf("slot %d belongs to %v, want %s, error %v", slot, now, first.Addr, err)
		}
		lost := 0
		for _, key := range acknowledged {
			if ask(t, first.Addr, "GET", key) == "$-1" {
				lost++
			}
		}
		if t.Logf("%d writes were acknowledged, and %d are lost", len(acknowledged), lost); lost > 0 {
			return
		}
	}
	t.Fatal("no takeover has lost a write")
}

// takeOverAgain tells a replica to take over, writes to it all the time, and returns the keys of the writes
// that it has acknowledged by the time that it is a replica again.
func (c *ClusterNodes) takeOverAgain(t *testing.T, replica *Server, prefix string) (acknowledged []string) {
	t.Helper()
	writer, err := connect(t.Context(), replica.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	ctx, cancel := context.WithTimeout(t.Context(), clusterLimit)
	defer cancel()
	before := strings.Count(replica.Log(), wins)
	if _, err := do(ctx, replica.Addr, "CLUSTER", "FAILOVER"); err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() {
		over <- poll(ctx, func() error {
			if strings.Count(replica.Log(), wins) == before {
				return errors.New("it has not taken over")
			}
			return isReplica(ctx, replica)
		})
	}()
	for i := 0; ; i++ {
		select {
		case err := <-over:
			if err != nil {
				t.Fatal(err)
			}
			return acknowledged
		default:
		}
		key := "{3560}" + prefix + ":" + strconv.Itoa(i) // of slot 0
		var refusal resp.ErrorReply
		switch _, err := writer.Do(ctx, "SET", key, "v"); {
		case err == nil:
			acknowledged = append(acknowledged, key)
		case !errors.As(err, &refusal):
			t.Fatal(err)
		}
	}
}
