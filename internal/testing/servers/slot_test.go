package servers

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/unwatch/unwatch/internal/resp"
	"github.com/unwatch/unwatch/internal/testing/long"
)

// Clients increment counters in one slot while it migrates. Each reply is the previous count plus one, so a
// lost, duplicated or outdated key shows at once.
func TestMoveSlotLosesNothing(t *testing.T) {
	t.Parallel()
	c := NewClusterNodes(t, 3, 1)
	v, err := do(t.Context(), c.Servers()[0].Addr, "CLUSTER", "KEYSLOT", "{slot}")
	if err != nil {
		t.Fatal(err)
	}
	slot, err := strconv.Atoi(v.Word())
	if err != nil {
		t.Fatal(err)
	}
	first, err := c.Owner(t.Context(), slot)
	if err != nil {
		t.Fatal(err)
	}
	const fixed = 5*moveKeys + 1
	for i := range fixed {
		if got := ask(t, first.Addr, "SET", fmt.Sprintf("{slot}fixed%d", i), "v", "EX", "1000"); got != "+OK" {
			t.Fatalf("SET answered %q", got)
		}
	}

	ctx, stop := context.WithCancel(t.Context())
	var counts, asked atomic.Int64
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			node := client{at: first.Addr, asked: &asked, open: map[string]*resp.Conn{}}
			defer node.close()
			for n := 1; ctx.Err() == nil; n++ {
				// Each round creates a new key as well, which the old owner must redirect.
				for _, key := range []string{fmt.Sprintf("{slot}count%d", w), fmt.Sprintf("{slot}new%d:%d", w, n%1000)} {
					got, err := node.do(t.Context(), "INCR", key)
					want := n
					if strings.Contains(key, "new") {
						want = (n + 999) / 1000
					}
					if err != nil || got != strconv.Itoa(want) {
						t.Errorf("%s is %q, want %d: %v", key, got, want, err)
						return
					}
				}
				counts.Add(1)
			}
		})
	}
	for round := range 6 {
		to := c.Servers()[round%3]
		before := counts.Load()
		if err := c.MoveSlot(t.Context(), slot, to); err != nil {
			t.Fatal(err)
		}
		if owner, err := c.Owner(t.Context(), slot); err != nil || owner != to {
			t.Fatalf("the owner is %v, not %s: %v", owner, to.Addr, err)
		}
		until(t, "the clients go on", func() bool { return counts.Load() > before+100 || t.Failed() })
	}
	stop()
	wg.Wait()
	if asked.Load() == 0 {
		t.Error("no client met the slot on its way: this has tested nothing")
	}
	last := c.Servers()[5%3]
	for i := range fixed {
		if got := ask(t, last.Addr, "GET", fmt.Sprintf("{slot}fixed%d", i)); got != "$1" {
			t.Fatalf("key %d is lost: %q", i, got)
		}
	}
	if got := ask(t, last.Addr, "TTL", "{slot}fixed0"); got == ":-1" {
		t.Error("the key lives for ever now")
	}
	for _, node := range c.Servers()[:2] {
		if v, err := do(t.Context(), node.Addr, "CLUSTER", "COUNTKEYSINSLOT", strconv.Itoa(slot)); err != nil || v.Word() != "0" {
			t.Errorf("%s keys are left behind, error %v", v.Word(), err)
		}
	}
	if err := c.AwaitOK(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// The new owner is killed during the migration and restarts. No key is lost.
func TestLongMoveSlotSurvivesKilledTarget(t *testing.T) {
	t.Parallel()
	long.Only(t)
	c := NewClusterNodes(t, 3, 0, "--appendonly", "yes", "--appendfsync", "always")
	from, to := c.Servers()[0], c.Servers()[1]
	const keys, slot = 20 * moveKeys, 0
	node, err := connect(t.Context(), from.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer node.Close()
	for i := range keys { // {3560} is a tag of slot 0
		if _, err := node.Do(t.Context(), "SET", fmt.Sprintf("{3560}%d", i), "v"); err != nil {
			t.Fatal(err)
		}
	}
	moved := make(chan error, 1)
	go func() { moved <- c.MoveSlot(t.Context(), slot, to) }()
	count := func(s *Server) int {
		v, err := do(t.Context(), s.Addr, "CLUSTER", "COUNTKEYSINSLOT", "0")
		n, _ := strconv.Atoi(v.Word())
		if err != nil {
			return -1
		}
		return n
	}
	until(t, "the first keys arrive", func() bool { return count(to) > 0 })
	if err := to.Kill(); err != nil {
		t.Fatal(err)
	}
	if count(from) == 0 {
		t.Skip("the move was over before the kill: nothing was tested")
	}
	if err := to.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-moved; err != nil {
		// The kill hit a command of this test instead of the old owner's.
		t.Logf("moved again after: %v", err)
		until(t, "the slot moves", func() bool { return c.MoveSlot(t.Context(), slot, to) == nil })
	}
	if here, there := count(from), count(to); here != 0 || there != keys {
		t.Fatalf("%d keys at the old owner, %d of %d at the new one", here, there, keys)
	}
}

// The next migration completes a slot that an aborted one left open.
func TestMoveSlotContinuesAfterAbort(t *testing.T) {
	t.Parallel()
	c := NewClusterNodes(t, 3, 0)
	from, to := c.Servers()[0], c.Servers()[1]
	a, err := myself(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	b, err := myself(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range [][]string{
		{to.Addr, "CLUSTER", "SETSLOT", "0", "IMPORTING", a.id},
		{from.Addr, "CLUSTER", "SETSLOT", "0", "MIGRATING", b.id},
	} {
		if _, err := do(t.Context(), step[0], step[1:]...); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.MoveSlot(t.Context(), 0, to); err != nil {
		t.Fatal(err)
	}
	if err := c.MoveSlot(t.Context(), 0, to); err != nil {
		t.Fatalf("it is there already: %v", err)
	}
	for _, node := range c.Servers() {
		if v, err := do(t.Context(), node.Addr, "CLUSTER", "NODES"); err != nil || strings.Contains(v.Word(), "[") {
			t.Errorf("the slot is still open, error %v:\n%s", err, v.Word())
		}
	}
}

// The new owner takes a slot with an epoch of its own, even if it has not yet heard of another node's latest.
func TestMoveSlotWaitsForEpochs(t *testing.T) {
	t.Parallel()
	c := NewClusterNodes(t, 3, 0)
	for round := range 4 {
		to, bumped := c.Servers()[(round+1)%3], c.Servers()[(round+2)%3]
		if _, err := do(t.Context(), bumped.Addr, "CLUSTER", "BUMPEPOCH"); err != nil {
			t.Fatal(err)
		}
		if err := c.MoveSlot(t.Context(), 0, to); err != nil {
			t.Fatal(err)
		}
		a, err := myself(t.Context(), bumped)
		if err != nil {
			t.Fatal(err)
		}
		b, err := myself(t.Context(), to)
		if err != nil {
			t.Fatal(err)
		}
		if a.epoch >= b.epoch {
			t.Errorf("round %d: the new owner has epoch %d, another node %d", round, b.epoch, a.epoch)
		}
	}
}

func TestParsePeer(t *testing.T) {
	p, err := parsePeer("id 127.0.0.1:1@2,host myself,master - 0 0 7 connected 0-5 9 [93-<-other]\n")
	if err != nil {
		t.Fatal(err)
	}
	if p.id != "id" || p.addr != "127.0.0.1:1" || p.epoch != 7 || !p.well || !p.is("myself") || p.is("slave") {
		t.Errorf("read as %+v", p)
	}
	for slot, want := range map[int]bool{0: true, 5: true, 6: false, 9: true, 93: false} {
		if p.has(slot) != want {
			t.Errorf("has slot %d: %v", slot, !want)
		}
	}
	start := "id a:1@2 master - 0 0 "
	for _, line := range []string{"", "id addr flags", start + "x connected", start + "1 connected x", start + "1 connected 1-x"} {
		if _, err := parsePeer(line); err == nil {
			t.Errorf("took %q for a node", line)
		}
	}
	if p, err := parsePeer("i a:1@2 slave,fail? m 0 0 1 connected"); err != nil || p.well {
		t.Errorf("a failing node is well: %+v, %v", p, err)
	}
}

// client follows redirections as cluster clients do.
type client struct {
	at    string
	asked *atomic.Int64
	open  map[string]*resp.Conn
}

func (c *client) do(ctx context.Context, args ...string) (string, error) {
	for at, asking := c.at, false; ; {
		if c.open[at] == nil {
			node, err := connect(ctx, at)
			if err != nil {
				return "", err
			}
			c.open[at] = node
		}
		if asking {
			c.asked.Add(1)
			if _, err := c.open[at].Do(ctx, "ASKING"); err != nil {
				return "", err
			}
		}
		v, err := c.open[at].Do(ctx, args...)
		var no resp.ErrorReply
		if !errors.As(err, &no) {
			return v.Word(), err
		}
		parts := strings.Fields(string(no))
		switch parts[0] {
		case "MOVED":
			c.at, at, asking = parts[2], parts[2], false
		case "ASK":
			at, asking = parts[2], true
		default:
			return "", err
		}
	}
}

func (c *client) close() {
	for _, node := range c.open {
		node.Close()
	}
}
