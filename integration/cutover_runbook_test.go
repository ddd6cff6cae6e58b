package integration

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/cutover/operate"
	"github.com/unwatch/unwatch/internal/testing/long"
	"github.com/unwatch/unwatch/internal/testing/servers"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// TestLongRunbook plays each step with the faults of runbookFaults. These tests play the other states that a step names:
//
//	step            state                              test
//	1 plan          a condition, a blind writer        TestCutoverPlan..., TestPreflight... (migrate-check, cutover)
//	2 follow        no heartbeats, stopped processes   TestCutoverPlaysAMigration, TestCensusForgetsTheDead
//	3, 7, 10        not ready                          TestReady, TestPublishNeedsGates, TestPreflightOfTheNewStore
//	4 watch         verdicts, a store down or empty    TestVerdict, TestCutoverStatusWithoutAStore, ...WithoutADocument
//	5 stop          a store down, loading or hanging   TestFreezeWithoutTheOldStore, TestFreezeOvertakesAPublish,
//	                                                   TestCutoverFreezesWhileTheOldStoreIsLoading, TestLongFreezeWhileLoading
//	5 stop          failover                           TestCutoverFreezesOnFailover
//	8 back          a frozen stage                     TestCutoverReversesAFrozenStage
//	9, 9a, 9b       a killed sweep, other services     TestCutoverGivesUp, TestSweepTurnsHalfDoneMoves
//	11, 14 sweep    keys that stay, an outage          TestCutoverSweepsAndVerifies, TestPassesOutliveAnOutage
//	12, 15 verify   wrong keys                         TestVerifyFindsPlants, TestCutoverRepairs
//	13 complete     too few passes, names left out     TestCutoverPlaysAMigration, TestCompleteWaitsForEveryName
//	16 remove       markers left over                  TestMarkersAreRemovedAtComplete
//	any             repeated, half published           TestCutoverRepeatsACommand, TestPublishAgain

// runbookStep is a row of the table in docs/cutover.md.
type runbookStep struct{ number, command, see, ifNot string }

var (
	inCode     = regexp.MustCompile("`([^`]+)`")
	repeatStep = regexp.MustCompile(`step (\w+), then step (\w+)`)
	// A process may say so of its last poll, when the document is there again.
	lostDocument = regexp.MustCompile(`Verdict: WRONG: the \w+ store\s+has\s+no\s+stage\s+document`)
	// The processes meet these conditions by themselves after a fault. The same conditions are ready in the output of a step
	// that was half published: then every process sees the stage only after the step is repeated.
	pending   = regexp.MustCompile(`(?m)^ +(processes|errors) +(not ready|not yet|not enough data)`)
	publishes = regexp.MustCompile(`^(advance|freeze|reverse) `)
	// inPlace turns the line of a step into that of a repeated one.
	inPlace = strings.NewReplacer("done: write stage ", "already at ", " with epoch", ", epoch")
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

// runbookPlay is a cut-over from a redis-server to a store behind a proxy, and a service of two processes.
type runbookPlay struct {
	t         *testing.T
	program   string
	dir       string // of sweep.json
	variables string
	steps     []runbookStep
	old       *servers.Server
	new       *newStore
	service   *service
	stores    [2]*lockupdate.Store
	clients   [2]*redis.Client
	fault     runbookFault
	rng       *rand.Rand
	published *runbookStep // the last step that published a stage

	mu      sync.Mutex
	left    int // chunks of bytes that the command still sends before the fault
	trigger func()
}

// sent counts the bytes of a command, and strikes the fault.
func (p *runbookPlay) sent() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.trigger == nil {
		return
	}
	if p.left--; p.left < 0 {
		p.trigger()
		p.trigger = nil
	}
}

// struck runs the command of a step under the fault. The fault begins after some bytes of the command, and ends as soon
// as it can.
func (p *runbookPlay) struck(s runbookStep) (code int, text string) {
	cmd := p.command(s)
	var mending sync.WaitGroup
	strike := func(command *os.Process) {
		p.fault.begin(p, command)
		mending.Go(func() { p.fault.mend(p, command) })
	}
	after := 1<<p.rng.IntN(8) - 1 // few commands send many bytes
	if after == 0 {
		strike(nil)
	} else {
		p.mu.Lock()
		p.left, p.trigger = after, func() { strike(cmd.Process) }
	}
	out := &strings.Builder{}
	cmd.Stdout, cmd.Stderr = out, out
	err := cmd.Start()
	if after > 0 {
		p.mu.Unlock() // the trigger reads cmd.Process
	}
	require.NoError(p.t, err)
	_ = cmd.Wait()
	p.mu.Lock()
	if p.trigger != nil { // the command has ended before
		p.trigger()
		p.trigger = nil
	}
	p.mu.Unlock()
	mending.Wait()
	p.t.Logf("step %s, the fault was after %d chunks: exit code %d\n%s", s.number, after, cmd.ProcessState.ExitCode(), out)
	return cmd.ProcessState.ExitCode(), out.String()
}

// run runs the command of a step without a fault.
func (p *runbookPlay) run(s runbookStep) (code int, text string) {
	cmd := p.command(s)
	out, _ := cmd.CombinedOutput()
	p.t.Logf("step %s: exit code %d\n%s", s.number, cmd.ProcessState.ExitCode(), out)
	return cmd.ProcessState.ExitCode(), string(out)
}

// command is that of a row, as the page has it.
func (p *runbookPlay) command(s runbookStep) *exec.Cmd {
	cmd := exec.CommandContext(p.t.Context(), "sh", "-c", p.variables+"exec "+p.program+" cutover "+s.command)
	cmd.Dir = p.dir
	return cmd
}

// step returns the row of a number.
func (p *runbookPlay) step(number string) runbookStep {
	at := slices.IndexFunc(p.steps, func(one runbookStep) bool { return one.number == number })
	require.NotEqual(p.t, -1, at, "step %s", number)
	return p.steps[at]
}

// restore repeats the last step that published a stage, as long as status says that a store has no stage document.
func (p *runbookPlay) restore() {
	p.t.Helper()
	for tries := 0; p.published != nil; tries++ {
		if _, text := p.run(p.step("4")); !lostDocument.MatchString(text) {
			return
		}
		require.Less(p.t, tries, maxTries)
		p.run(*p.published)
	}
}

// awaitProcesses waits until both processes have seen the stage, and read it from both stores.
func (p *runbookPlay) awaitProcesses() {
	p.t.Helper()
	var census []operate.Process
	var stage cutover.Stage
	assert.Eventually(p.t, func() (all bool) {
		var err error
		if stage, err = cutover.Current(p.t.Context(), "desk", p.stores[0], p.stores[1]); err != nil {
			return false
		}
		census, err = operate.Census(p.t.Context(), "desk", p.stores[0])
		for _, one := range census {
			all = one.Epoch == stage.Epoch && one.Error == ""
			if !all {
				return false
			}
		}
		return err == nil && len(census) == 2
	}, time.Minute, 100*time.Millisecond)
	require.False(p.t, p.t.Failed(), "stage %v, epoch %d: %v", stage, stage.Epoch, census)
}

// play runs the command of a row under the fault, and follows the page until the output is as the page promises.
func (p *runbookPlay) play(s runbookStep) {
	p.t.Helper()
	p.awaitProcesses()
	code, text := p.struck(s)
	for again := 0; !p.sees(s, code, text, again); again++ {
		require.Less(p.t, again, maxTries, "step %s: %s: exit code %d\n%s", s.number, s.command, code, text)
		p.restore()
		if pending.MatchString(text) {
			p.awaitProcesses()
		}
		if strings.Contains(text, "-monitor-force") { // the service is busy
			s.command += " -monitor-force"
		}
		if repeat := repeatStep.FindStringSubmatch(s.ifNot); repeat != nil {
			for _, number := range repeat[1:] {
				if number != s.number {
					p.run(p.step(number))
				}
			}
		}
		code, text = p.run(s)
	}
	if publishes.MatchString(s.command) {
		p.published = &s
	}
	p.restore()
}

// maxTries limits how often a step is repeated: the fault has ended, and the machine may be slow.
const maxTries = 6

// sees says whether the output has what the page promises.
func (p *runbookPlay) sees(s runbookStep, code int, text string, again int) bool {
	text = strings.Join(strings.Fields(text), " ")
	if code != 0 {
		return false
	}
	for _, want := range inCode.FindAllStringSubmatch(s.see, -1) {
		already := inPlace.Replace(want[1])
		if want[1] != "status" && !strings.Contains(text, want[1]) && (again == 0 || !strings.Contains(text, already)) {
			return false
		}
	}
	return true
}

const idleKeys = 100

func (p *runbookPlay) playAll() {
	t := p.t
	sides := serviceOrder{Addrs: [2]string{p.old.Addr, p.new.addr}, Profile: p.new.profile}
	of, stores, closeAll := sides.openSides()
	t.Cleanup(func() { assert.NoError(t, closeAll()) })
	p.stores = stores
	for i, side := range of {
		p.clients[i] = side.Redis.(*redis.Client)
	}
	p.variables, p.steps = runbook(t)
	p.variables = strings.NewReplacer(
		"redis:6379", newLink(t, func() string { return p.old.Addr }, p.sent).addr(),
		"codis:19000", newLink(t, func() string { return p.new.addr }, p.sent).addr(),
		"new-0:6379", p.new.backends[0], "new-1:6379", p.new.backends[1],
	).Replace(p.variables)
	for i := range idleKeys {
		require.NoError(t, p.clients[0].Set(t.Context(), fmt.Sprint("room:idle:", i), "v", 0).Err())
	}
	p.service = &service{t: t, order: sides, outcomes: map[string]int{}}
	for process := range 2 {
		p.service.start(process)
	}
	for _, step := range p.steps {
		p.play(step)
	}
	p.awaitProcesses()
	p.service.stop()
	t.Logf("updates: %v", p.service.outcomes)
}

// The runbook leads from follow to all keys, back, and to the end, while a service updates its keys and a fault strikes
// at each step. No update is lost, and afterwards the new store alone has every value.
func TestLongRunbook(t *testing.T) {
	t.Parallel()
	long.Only(t)
	program := migrateCheck(t)
	for name, start := range map[string]func(t *testing.T) *newStore{"nutcracker": behindNutcracker, "codis": behindCodis} {
		for _, fault := range runbookFaults() {
			t.Run(name+", "+fault.name, func(t *testing.T) {
				t.Parallel()
				// The load takes half a millisecond for each command. Rewrites of the log keep it short.
				old := servers.Redis(t, "--appendonly", "yes", "--appendfsync", "always", "--key-load-delay", "500",
					"--auto-aof-rewrite-min-size", "100kb")
				seed := fnv.New64()
				_, _ = seed.Write([]byte(t.Name()))
				p := &runbookPlay{
					t: t, program: program, dir: t.TempDir(), old: old, new: start(t), fault: fault,
					rng: rand.New(rand.NewPCG(seed.Sum64(), 1)), //nolint:gosec // repeatable, not secret
				}
				p.playAll()
				p.verify()
			})
		}
	}
}

// verify reads each value without cutover.
func (p *runbookPlay) verify() {
	t, s := p.t, p.service
	for i := range serviceKeys {
		require.Positive(t, s.acked[i])
		res, err := p.stores[1].Update(t.Context(), serviceKey(i), plusOne)
		require.NoError(t, err, "without cutover")
		var n int
		_, err = fmt.Sscan(res.Before.Text(), &n)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, n, s.acked[i], serviceKey(i).Name)
		assert.LessOrEqual(t, n, s.acked[i]+s.unknown[i], serviceKey(i).Name)
	}
	if p.fault.name == "none" {
		assert.Len(t, s.outcomes, 1, "every update succeeds")
	}
	kept, err := p.clients[0].LRange(t.Context(), "room:idle:0", 7, -1).Result()
	require.NoError(t, err)
	assert.Equal(t, []string{"v"}, kept, "the value of the move, for a new store that is lost")
	for i := range idleKeys {
		v, err := p.stores[1].Read(t.Context(), rmw.Key{Name: fmt.Sprint("room:idle:", i)})
		require.NoError(t, err)
		assert.Equal(t, "v", v.Text())
	}
}
