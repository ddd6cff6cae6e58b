package lab

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/bench/internal/result"
)

// Counters returns the sum of the counters of all servers on the path. It corrects them for its own
// replies, which therefore do not show in a difference.
func (p *Path) Counters(ctx context.Context) (result.Server, error) {
	sum := result.Server{}
	for _, rdb := range p.servers {
		text, err := info(ctx, rdb)
		if err != nil {
			return sum, err
		}
		one, err := parseInfo(text)
		if err != nil {
			return sum, err
		}
		one.Bytes += int64(len(text))
		sum = sum.Add(one)
	}
	return sum, nil
}

// info reads one section per INFO, since servers before Redis 7 accept only one.
func info(ctx context.Context, rdb *redis.Client) (string, error) {
	var sections []*redis.StringCmd
	_, err := rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, name := range []string{"commandstats", "stats", "cpu"} {
			sections = append(sections, pipe.Info(ctx, name))
		}
		return nil
	})
	var text strings.Builder
	for _, s := range sections {
		text.WriteString(s.Val())
	}
	return text.String(), err
}

// ours lists the commands that only the bench sends during a slot.
func ours() []string { return []string{"info", "hello", "client"} }

func parseInfo(text string) (result.Server, error) {
	s := result.Server{Calls: map[string]int64{}}
	var first error
	number := func(value string) float64 {
		v, err := strconv.ParseFloat(value, 64)
		if err != nil && first == nil {
			first = fmt.Errorf("INFO: %w", err)
		}
		return v
	}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			continue
		}
		if command, ok := strings.CutPrefix(name, "cmdstat_"); ok {
			if command, _, _ := strings.Cut(command, "|"); slices.Contains(ours(), command) {
				continue
			}
			calls, _, _ := strings.Cut(strings.TrimPrefix(value, "calls="), ",")
			s.Calls[command] = int64(number(calls))
			continue
		}
		switch name {
		case "total_net_input_bytes", "total_net_output_bytes":
			s.Bytes += int64(number(value))
		case "total_reads_processed":
			s.Reads = int64(number(value))
		case "used_cpu_sys", "used_cpu_user":
			s.CPU += time.Duration(number(value) * float64(time.Second))
		}
	}
	return s, first
}
