package probe

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/unwatch/unwatch/internal/resp"
)

// The consistency experiments. Each has its share of the budget, so that a slow network makes them smaller,
// not longer.
const (
	readsAsked    = 100
	readsLimit    = 3 * time.Second
	pipelineConns = 4
	pipelines     = 100 // of each connection
	orderingLimit = 3 * time.Second
)

// padding makes a write slower than the read after it, so that the read overtakes it wherever reordering is
// possible.
func padding() string { return strings.Repeat(".", 8<<10) }

// askReads counts stale reads after an acknowledged write.
func (p *prober) askReads(ctx context.Context) error {
	r := &p.report.Reads
	get := func(key string) []string { return []string{"GET", key} }
	if err := p.countStale(ctx, &r.Get, get); err != nil {
		return err
	}
	if p.report.Scripts.Eval != Works {
		return nil
	}
	return p.countStale(ctx, &r.Eval, func(key string) []string { return []string{"EVAL", scriptGet, "1", key} })
}

func (p *prober) countStale(ctx context.Context, count *Count, read func(key string) []string) error {
	until := time.Now().Add(readsLimit)
	for i := range readsAsked {
		if time.Now().After(until) {
			return nil
		}
		key, value := p.keys.home(i, "r"), strconv.Itoa(i)
		replies, outcome, err := p.do(ctx, set(key, value))
		if err != nil || outcome != OK || !isSet(replies[0]) {
			return err
		}
		if replies, outcome, err = p.do(ctx, read(key)); err != nil || outcome != OK {
			return err
		}
		if _, failed := replies[0].ErrorText(); failed {
			return nil
		}
		count.Asked++
		if text(replies[0]) != value {
			count.Found++
		}
	}
	return nil
}

// askOrdering sends pipelines of two commands on several connections at once, and counts those whose second
// command did not see the first.
func (p *prober) askOrdering(ctx context.Context) error {
	o := &p.report.Ordering
	// A stale replica is no proof of reordering: read from the master, where scripts run.
	scripts := p.report.Scripts.Eval == Works
	sameKey := func(i int, value string) [][]string {
		key := p.keys.home(i, "o"+strconv.Itoa(i))
		if scripts {
			return [][]string{set(key, value), {"EVAL", scriptGet, "1", key}}
		}
		return [][]string{set(key, value), {"GET", key}}
	}
	if scripts || p.report.Reads.Get.Found == 0 {
		if err := p.countOverdue(ctx, &o.SameKey, sameKey); err != nil {
			return err
		}
	}
	if p.report.Scripts.OneTag != Works {
		return nil // reordering is not observable
	}
	twoKeys := func(i int, value string) [][]string {
		a, b := p.keys.home(i, "qa"+strconv.Itoa(i)), p.keys.home(i, "qb"+strconv.Itoa(i))
		return [][]string{set(a, value), {"EVAL", scriptOther, "2", b, a}}
	}
	return p.countOverdue(ctx, &o.TwoKeys, twoKeys)
}

func (p *prober) countOverdue(ctx context.Context, count *Count, pipeline func(conn int, value string) [][]string) error {
	conns := make([]*resp.Conn, 0, pipelineConns)
	defer func() {
		for _, c := range conns {
			c.Close()
		}
	}()
	counts := make([]Count, pipelineConns)
	until := time.Now().Add(orderingLimit)
	var all sync.WaitGroup
	defer all.Wait()
	for range counts {
		c, err := p.dial(ctx)
		if err != nil {
			return p.after(err)
		}
		conns = append(conns, c)
	}
	pad := padding()
	for i, c := range conns {
		commands := make([][][]string, pipelines) // made here, because the keyring is for one goroutine
		for n := range commands {
			commands[n] = pipeline(i, strconv.Itoa(n)+pad)
		}
		all.Go(func() { counts[i] = overtaken(ctx, c, until, commands) })
	}
	all.Wait()
	for _, c := range counts {
		count.Asked += c.Asked
		count.Found += c.Found
		p.report.Sent += 2 * c.Asked
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// overtaken sends pipelines of a SET and a read, and counts the reads that return another value.
func overtaken(ctx context.Context, c *resp.Conn, until time.Time, commands [][][]string) (count Count) {
	for _, pair := range commands {
		if time.Now().After(until) {
			return count
		}
		replies, err := c.Pipeline(ctx, pair...)
		if err != nil || !isSet(replies[0]) {
			return count
		}
		if _, failed := replies[1].ErrorText(); failed {
			return count
		}
		count.Asked++
		if text(replies[1]) != pair[0][2] {
			count.Found++
		}
	}
	return count
}
