package probe

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// askLimits sends values of increasing size, and pipelines of increasing length.
func (p *prober) askLimits(ctx context.Context) error {
	values := []int{64 << 10, 256 << 10, 1 << 20}
	lengths := []int{100, 1000}
	if p.cfg.Risky {
		values = append(values, 8<<20, 32<<20, 64<<20)
		lengths = append(lengths, 5_000, 10_000, 20_000)
	}
	p.drop()
	defer p.drop()
	// A value that stalls must not use up the budget, so each has its own timeout.
	wait := p.cfg.Timeout
	defer func() { p.cfg.Timeout = wait }()
	l := &p.report.Limits
	for _, size := range values {
		p.cfg.Timeout = wait + time.Duration(size>>20)*100*time.Millisecond
		passed, end, err := p.tryValue(ctx, size)
		if err != nil {
			return err
		}
		if end != "" {
			l.ValueEnd = fmt.Sprintf("%d bytes: %s", size, end)
		}
		if !passed {
			break
		}
		l.Value = size
	}
	p.cfg.Timeout = wait
	for _, length := range lengths {
		passed, end, err := p.tryPipeline(ctx, length)
		if err != nil {
			return err
		}
		if end != "" {
			l.PipelineEnd = fmt.Sprintf("%d commands: %s", length, end)
		}
		if !passed {
			break
		}
		l.Pipeline = length
	}
	return nil
}

// tryValue stores a value, reads it, and deletes it at once. A failure without an end does not concern the
// address.
func (p *prober) tryValue(ctx context.Context, size int) (passed bool, end string, err error) {
	key := p.keys.home(0, "large")
	for _, command := range [][]string{set(key, strings.Repeat("v", size)), {"GET", key}, {p.deletes, key}} {
		replies, outcome, err := p.do(ctx, command)
		if err != nil || outcome != OK {
			return false, string(outcome), err
		}
		if text, failed := replies[0].ErrorText(); failed {
			return false, p.endOf(text), nil
		}
		if command[0] != "GET" {
			continue
		}
		if len(text(replies[0])) != size {
			switch stored, err := p.lengthOnMaster(ctx, key); {
			case err != nil || stored < 0:
				return false, "", err
			case stored != int64(size):
				return false, "another value came back", nil
			}
			p.report.Reads.Get.Found++ // the replica is stale
		}
		p.report.Reads.Get.Asked++
	}
	return true, "", nil
}

// lengthOnMaster returns the length of a value, -1 if unknown. A replica may answer a read but not a write;
// APPEND of nothing is a write.
func (p *prober) lengthOnMaster(ctx context.Context, key string) (int64, error) {
	q := question{name: "APPEND", args: []string{"APPEND", key, ""}}
	if p.mayStay(q) || p.harmsBase(q) {
		return -1, nil
	}
	replies, _, err := p.store(ctx, q)
	if length, ok := first(replies).Int(); ok {
		return length, err
	}
	return -1, err
}

// endOf returns the error at which a limit ends; empty if it reports a missing permission.
func (p *prober) endOf(text string) string {
	if lacksRight(text) {
		return ""
	}
	return p.mask(text)
}

func (p *prober) tryPipeline(ctx context.Context, length int) (passed bool, end string, err error) {
	key := p.keys.home(0, "s")
	commands := make([][]string, length)
	for i := range commands {
		commands[i] = []string{"GET", key}
	}
	replies, outcome, err := p.do(ctx, commands...)
	if err != nil || outcome != OK {
		return false, fmt.Sprintf("%s after %d replies", outcome, len(replies)), err
	}
	for _, reply := range replies {
		if text, failed := reply.ErrorText(); failed {
			return false, p.endOf(text), nil
		}
	}
	return true, "", nil
}

// askRisky sends commands that can harm other clients, each on its own connection.
func (p *prober) askRisky(ctx context.Context) error {
	if !p.cfg.Risky {
		return nil
	}
	// The blocking commands find an element, so that they do not block.
	fill := questions("RPUSH @l a\nZADD @z 1 a", p.keys)
	for _, q := range questions(risky, p.keys) {
		if p.mayStay(q) {
			continue
		}
		for _, f := range fill {
			if p.mayStay(f) {
				continue
			}
			if _, _, err := p.store(ctx, f); err != nil {
				return err
			}
		}
		p.drop()
		if err := p.ask(ctx, q); err != nil {
			return err
		}
		p.drop()
	}
	return nil
}
