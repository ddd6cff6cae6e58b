package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/rmw"
)

// runbookStep is a row of the table in docs/cutover.md.
type runbookStep struct{ number, command, see, ifNot string }

var (
	inCode     = regexp.MustCompile("`([^`]+)`")
	repeatStep = regexp.MustCompile(`step (\w+), then step (\w+)`)
)

// runbook returns the assignments before the table, and its rows.
func runbook(t *testing.T) (variables string, steps []runbookStep) {
	t.Helper()
	page, err := os.ReadFile("../docs/cutover.md")
	require.NoError(t, err)
	_, text, _ := strings.Cut(string(page), "\n## The runbook\n")
	text, _, _ = strings.Cut(text, "\n## ")
	_, variables, _ = strings.Cut(text, "```sh\n")
	variables, _, _ = strings.Cut(variables, "```")
	for line := range strings.Lines(text) {
		cells := strings.Split(line, " | ")
		if number, _, ok := strings.Cut(strings.TrimPrefix(cells[0], "| "), " "); ok && len(cells) == 5 && number != "step" {
			steps = append(steps, runbookStep{number, inCode.FindStringSubmatch(cells[1])[1], cells[2], cells[3]})
		}
	}
	require.Len(t, steps, 18)
	return variables, steps
}

// runbookPlay is a cut-over from a redis-server to a nutcracker, and a service of two processes.
type runbookPlay struct {
	t         *testing.T
	program   string
	dir       string // of sweep.json
	variables string
	steps     []runbookStep
	stores    [2]*lockupdate.Store
	counts    [20]atomic.Int64 // acknowledged updates per key
}

func (p *runbookPlay) key(i int) rmw.Key {
	label := []string{"room", "visitor"}[i%2]
	return rmw.Key{Name: fmt.Sprintf("%s:%d", label, i), Label: label}
}

// clients returns a client and a Store of each side.
func (p *runbookPlay) clients(addrs [2]string) (sides [2]cutover.Side, stores [2]*lockupdate.Store) {
	for i, profile := range []*proxycompat.Profile{proxycompat.Redis(), proxycompat.Twemproxy05()} {
		rdb := redis.NewClient(proxycompat.Options(profile, addrs[i]))
		p.t.Cleanup(func() { assert.NoError(p.t, rdb.Close()) })
		stores[i] = lockupdate.New(rdb, lockupdate.Config{})
		p.t.Cleanup(func() { assert.NoError(p.t, stores[i].Close()) })
		sides[i] = cutover.Side{Store: stores[i], Redis: rdb}
	}
	return sides, stores
}

// serve runs a process of the service until ctx ends.
func (p *runbookPlay) serve(ctx context.Context, addrs [2]string, process int) {
	sides, stores := p.clients(addrs)
	stage := cutover.FromKey("desk", stores[0], stores[1])
	heartbeat, err := cutover.StartHeartbeat("desk", stores[0], stage)
	if !assert.NoError(p.t, err) {
		return
	}
	store := cutover.New(sides[0], sides[1], cutover.Config{Stage: stage, Heartbeat: heartbeat})
	defer func() { assert.NoError(p.t, errors.Join(store.Close(), heartbeat.Close(), stage.Close())) }()
	for n := process; ctx.Err() == nil; n++ {
		i := n % len(p.counts)
		_, err := store.Update(context.WithoutCancel(ctx), p.key(i), plusOne)
		if assert.NoError(p.t, err) {
			p.counts[i].Add(1)
		}
	}
}

func plusOne(_ context.Context, cur rmw.Value) (rmw.Value, error) {
	n, err := strconv.Atoi("0" + cur.Text())
	return rmw.String(strconv.Itoa(n + 1)), err
}

// awaitProcesses waits until both processes have seen the stage.
func (p *runbookPlay) awaitProcesses() {
	p.t.Helper()
	for {
		stage, err := cutover.Current(p.t.Context(), "desk", p.stores[0], p.stores[1])
		require.NoError(p.t, err)
		census, err := cutover.Census(p.t.Context(), "desk", p.stores[0])
		require.NoError(p.t, err)
		if len(census) == 2 && !slices.ContainsFunc(census, func(one cutover.Process) bool {
			return one.Epoch != stage.Epoch || one.Error != ""
		}) {
			return
		}
	}
}

// play runs the command of a row as the page has it.
func (p *runbookPlay) play(s runbookStep, again int) {
	p.t.Helper()
	p.awaitProcesses()
	cmd := exec.CommandContext(p.t.Context(), "sh", "-c", p.variables+p.program+" cutover "+s.command)
	cmd.Dir = p.dir
	out, err := cmd.CombinedOutput()
	code, text := cmd.ProcessState.ExitCode(), strings.Join(strings.Fields(string(out)), " ")
	if repeat := repeatStep.FindStringSubmatch(s.ifNot); code != 0 && repeat != nil && again > 0 {
		for _, number := range repeat[1:] {
			at := slices.IndexFunc(p.steps, func(one runbookStep) bool { return one.number == number })
			require.NotEqual(p.t, -1, at, "step %s", number)
			if p.steps[at].number != s.number {
				p.play(p.steps[at], 0)
			}
		}
		p.play(s, again-1)
		return
	}
	if code != 0 && again > 0 && strings.Contains(text, "-monitor-force") { // the service is busy
		s.command += " -monitor-force"
		p.play(s, again-1)
		return
	}
	require.NoError(p.t, err, "step %s: %s\n%s", s.number, s.command, out)
	for _, want := range inCode.FindAllStringSubmatch(s.see, -1) {
		if want[1] != "status" {
			require.Contains(p.t, text, want[1], "step %s: %s", s.number, s.command)
		}
	}
}

// The runbook leads from follow to all keys, back, and to the end, while a service updates its keys. No update
// is lost, and afterwards the new store alone has every value.
func TestLongRunbook(t *testing.T) {
	t.Parallel()
	long.Only(t)
	backends := []string{servers.Redis(t).Addr, servers.Redis(t).Addr}
	addrs := [2]string{servers.Redis(t).Addr, servers.Nutcracker(t, backends, 2).Addr}
	p := &runbookPlay{t: t, program: migrateCheck(t), dir: t.TempDir()}
	p.variables, p.steps = runbook(t)
	p.variables = strings.NewReplacer(
		"redis:6379", addrs[0], "codis:19000", addrs[1], "new-0:6379", backends[0], "new-1:6379", backends[1],
	).Replace(p.variables)
	_, p.stores = p.clients(addrs)
	const idle = 300
	old := client(t, addrs[0])
	for i := range idle {
		require.NoError(t, old.Set(t.Context(), fmt.Sprint("room:idle:", i), "v", 0).Err())
	}
	ctx, cancel := context.WithCancel(t.Context())
	var service sync.WaitGroup
	for process := range 2 {
		service.Go(func() { p.serve(ctx, addrs, process) })
	}
	t.Cleanup(func() {
		cancel()
		service.Wait()
	})
	for _, step := range p.steps {
		p.play(step, 3)
	}
	p.awaitProcesses()
	cancel()
	service.Wait()
	for i := range p.counts {
		require.Positive(t, p.counts[i].Load())
		_, err := p.stores[1].Update(t.Context(), p.key(i), plusOne)
		require.NoError(t, err, "without cutover")
		v, err := p.stores[1].Read(t.Context(), p.key(i))
		require.NoError(t, err)
		assert.Equal(t, fmt.Sprint(p.counts[i].Load()+1), v.Text(), p.key(i).Name)
	}
	kept, err := old.LRange(t.Context(), "room:idle:0", 7, -1).Result()
	require.NoError(t, err)
	assert.Equal(t, []string{"v"}, kept, "the value of the move, for a new store that is lost")
	for i := range idle {
		v, err := p.stores[1].Read(t.Context(), rmw.Key{Name: fmt.Sprint("room:idle:", i)})
		require.NoError(t, err)
		assert.Equal(t, "v", v.Text())
	}
}
