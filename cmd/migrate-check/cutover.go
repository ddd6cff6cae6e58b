package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/cutover/operate"
	"github.com/unwatch/unwatch/internal/cutoverstatus"
	"github.com/unwatch/unwatch/internal/wrap"
	"github.com/unwatch/unwatch/rmw"
)

const cutoverUsage = `Usage: migrate-check cutover ACTION -name NAME -old ADDRESS -new ADDRESS [flags]

Shows and changes the stage of a cut-over, which processes read from both
stores. An ACTION is:

  status    show the stage, keys, processes, pauses and the way back; with
            -http as a page
  advance   go to the stage of -to, -percent and -labels
  freeze    stop new moves, also while one store is down; with -off, permit
            them again
  reverse   move keys back to the old store
  plan      check the servers and every key before the first move; with
            -monitor, name blind writers
  sweep     move every key of the old store as the stage says, once
  verify    look at every key in both stores, and write nothing
  repair    make one store the home of a -key that has two, or no marker

An ADDRESS is as in migrate-check live; redis://HOST:PORT/3 is database 3 of a
server, which the processes must use, too. -old and -new may list the proxies in
front of a store: the command goes on over another one while one is away. plan,
sweep, verify and status scan the old store: name its servers in -old-masters if
it has a proxy. status looks at some of its keys, at random. advance changes
nothing unless its conditions hold. freeze and reverse have none.

`

const cutoverMore = `
Exit codes: 0 done, or ready for the next step; 1 a condition is not met, or
keys stay or are wrong; 2 could not finish: wrong usage, or a store fails; 3 a
condition could not be read ("not enough data"), and none is "not ready". So a
condition that is "not yet" met is 1 only if every other one could be read.
advance takes the first step although a setting of a server could not be read:
with -dry-run it exits with 3 then.

Examples:
  migrate-check cutover status -name desk -old redis:6379 -new codis:19000
  migrate-check cutover status -name desk -old ... -new ... -http 127.0.0.1:8080
  migrate-check cutover advance -name desk -old ... -new ... -percent 5 -dry-run
  migrate-check cutover sweep -name desk -old ... -new ... \
    -foreign 'billing:*' -new-masters ... -passes sweep.json
  migrate-check cutover advance -name desk -old ... -new ... -to complete \
    -passes sweep.json
  migrate-check cutover repair -name desk -old ... -new ... -key room:1 \
    -save repaired.json -keep new
`

// cutoverFlags are the flags of the subcommand cutover.
type cutoverFlags struct {
	connectFlags
	name         string
	old, new     string
	to           string
	percent      int
	labels       string
	passes       string
	keys         string
	foreign      string
	batch        int
	rate         int
	maxSeal      int
	replicas     int
	newReplicas  int
	oldMasters   string
	newMasters   string
	monitor      time.Duration
	monitorForce bool
	maxLatency   time.Duration
	maxOutage    time.Duration
	off          bool
	json         bool
	dryRun       bool
	timeout      time.Duration
	http         string
	freezes      bool
	key          string
	keep         string
	save         string
	set          map[string]bool // the flags of the command line
}

func (f *cutoverFlags) register(flags *flag.FlagSet) {
	f.connectFlags.register(flags)
	flags.StringVar(&f.name, "name", "", "the `NAME` of the cut-over, as in cutover.FromKey")
	flags.StringVar(&f.old, "old", "", "the `ADDRESS` of the old store, or of each proxy in front of it, with commas")
	flags.StringVar(&f.new, "new", "", "the same for the new store")
	flags.StringVar(&f.to, "to", "copying", "advance to this `STAGE`: follow, copying or complete")
	flags.IntVar(&f.percent, "percent", 0, "copying moves `N` percent of the keys (default as before)")
	flags.StringVar(&f.labels, "labels", "", "copying moves keys of these labels, `A,B`; empty: all (default as before)")
	flags.StringVar(&f.passes, "passes", "", "sweep and verify add lines of JSON to this `FILE`; status and advance -to complete read it")
	flags.StringVar(&f.keys, "keys", "", "look only at names that match, `PATTERN=LABEL,...`; empty: all but locks")
	flags.StringVar(&f.foreign, "foreign", "", "names that match, `PATTERN,...`, are of other services: leave them alone")
	flags.IntVar(&f.batch, "batch", 16, "sweep `N` keys in one pipeline")
	flags.IntVar(&f.rate, "rate", 0, "sweep at most `N` keys a second; 0: no limit")
	flags.DurationVar(&f.maxLatency, "max-latency", 0, "sweep halves its rate while a command on one key takes longer; 0: it does not measure")
	flags.DurationVar(&f.maxOutage, "max-outage", 30*time.Second, "plan, sweep and verify wait that long for a store that is away, such as a proxy that restarts, and go on; 0: not at all")
	flags.IntVar(&f.maxSeal, "max-seal", 1<<20, "values above `N` bytes stay")
	flags.IntVar(&f.replicas, "replicas", 0, "processes have Config.Replicas of `N`; sweep waits for them, too")
	flags.IntVar(&f.newReplicas, "new-replicas", 0, "processes have Config.NewReplicas of `N`; sweep waits for them, too")
	flags.StringVar(&f.oldMasters, "old-masters", "", "the masters of the old store, `ADDRESS,...`, behind its proxy; default: -old")
	flags.StringVar(&f.newMasters, "new-masters", "", "the masters of the new store, `ADDRESS,...`, behind its proxy; -to complete needs a verify of them")
	flags.DurationVar(&f.monitor, "monitor", 0, "plan names blind writers that MONITOR shows in that time; it costs the old server up to half of its throughput")
	flags.BoolVar(&f.monitorForce, "monitor-force", false, "plan -monitor also looks at a server with more than 5,000 commands a second")
	flags.BoolVar(&f.off, "off", false, "freeze: permit moves again")
	flags.BoolVar(&f.json, "json", false, "write JSON; of plan, sweep and verify it has the name of every listed key, and they hold all of these in memory")
	flags.BoolVar(&f.dryRun, "dry-run", false, "show the conditions and the steps, and change nothing")
	flags.StringVar(&f.http, "http", "", "status serves a page at this `ADDRESS`, without a password, until it is stopped")
	flags.BoolVar(&f.freezes, "freeze-on-failover", false, "status -http also freezes within 2 s of a failover or restart of the old store")
	flags.StringVar(&f.key, "key", "", "repair the key of this `NAME`")
	flags.StringVar(&f.keep, "keep", "", "repair: the value of this `STORE` stays, old or new; the other one is deleted")
	flags.StringVar(&f.save, "save", "", "repair first adds both values to this `FILE`, as a line of JSON")
	flags.DurationVar(&f.timeout, "timeout", 10*time.Second, "give up after that long; plan, sweep and verify: only if set")
}

// cutoverAnswer is the output of the subcommand cutover.
type cutoverAnswer struct {
	Name      string            `json:"name"`
	Stage     cutover.Stage     `json:"present"`
	Next      cutover.Stage     `json:"next"`
	State     operate.GateState `json:"state"`
	Gates     []operate.Gate    `json:"gates"`
	Processes []operate.Process `json:"processes"`
	Steps     []string          `json:"steps,omitempty"`
	Already   bool              `json:"already,omitempty"` // both stores have the stage
	Voids     string            `json:"voids,omitempty"`   // the records that a new epoch voids
	Published bool              `json:"published"`
	Error     string            `json:"error,omitempty"`
}

// runCutover shows or changes the stage of a cut-over.
func runCutover(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := newFlags("cutover", cutoverUsage, cutoverMore)
	var f cutoverFlags
	f.register(flags)
	action, code, ok := parse(flags, args, stdout, stderr, "ACTION")
	if !ok {
		return code
	}
	f.set = map[string]bool{}
	flags.Visit(func(one *flag.Flag) { f.set[one.Name] = true })
	records, err := f.check(action)
	var stores cutoverStores
	if err == nil {
		stores, err = f.open(os.LookupEnv)
	}
	if err != nil {
		return complain(stderr, "cutover", err.Error())
	}
	defer stores.Close()
	if action == "status" {
		return f.runStatus(ctx, stores, stdout, stderr)
	}
	if f.walks(action) {
		if f.set["timeout"] {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, f.timeout)
			defer cancel()
		}
		code, err := f.walk(ctx, action, stores, stdout)
		if err != nil {
			return complain(stderr, "cutover", errors.Join(err, stores.diagnose(context.WithoutCancel(ctx))).Error())
		}
		return code
	}
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	if action == "repair" {
		code, err := f.runRepair(ctx, stores, stdout)
		if err != nil {
			return complain(stderr, "cutover", errors.Join(err, stores.diagnose(context.WithoutCancel(ctx))).Error())
		}
		return code
	}
	a, err := f.run(ctx, action, stores, records)
	if err != nil {
		err = errors.Join(err, stores.diagnose(ctx))
		a.Error = err.Error()
	}
	if writeErr := f.write(stdout, a); writeErr != nil {
		err = errors.Join(err, writeErr)
	}
	if err != nil {
		return fail(stderr, "cutover", codeError, err)
	}
	return codeOf(a.State)
}

// codeUnknown is the exit code if a condition could not be read, and none is closed. It differs from codeError, that of
// a command that could not finish.
const codeUnknown = 3

func codeOf(state operate.GateState) int {
	switch state {
	case operate.GateOpen:
		return codeOK
	case operate.GateClosed, operate.GateLater:
		return codeDiffers
	}
	return codeUnknown
}

func encode(w io.Writer, result any) error {
	return wrap.WriteJSON(w, result)
}

func sayGates(w io.Writer, gates []operate.Gate) {
	table := wrap.NewTable("condition", "state", "have", "need")
	for _, g := range gates {
		table.Row(g.Name, g.State, g.Have, g.Need)
	}
	say(w, "%s", table)
	var names []string
	for i, g := range gates {
		if g.Warning != "" {
			say(w, "%s", wrapped("warning, "+g.Name+": "+g.Warning))
		}
		names = append(names, g.Name)
		if i+1 < len(gates) && gates[i+1].Do == g.Do && len(g.Names)+len(gates[i+1].Names) == 0 {
			continue // one line for all that need the same
		}
		do := g.Do
		if len(g.Names) > 0 {
			do += ":"
		}
		if do != "" {
			say(w, "%s", wrapped(strings.Join(names, ", ")+": "+do))
		}
		n, err := strconv.Atoi(g.Have)
		if err != nil {
			n = len(g.Names)
		}
		sayNames(w, n, g.Names)
		names = nil
	}
}

// check checks the flags, and reads the file of -passes.
func (f *cutoverFlags) check(action string) ([]cutoverstatus.Record, error) {
	switch {
	case !slices.Contains([]string{"status", "advance", "freeze", "reverse", "plan", "sweep", "verify", "repair"}, action):
		return nil, fmt.Errorf("ACTION is status, advance, freeze, reverse, plan, sweep, verify or repair, not %q", wrap.WithoutSecrets(action))
	case f.name == "" || f.old == "" || f.new == "":
		return nil, errors.New("-name, -old and -new are needed")
	case f.timeout <= 0:
		return nil, errors.New("-timeout must be above 0")
	case !slices.Contains([]string{"follow", "copying", "complete"}, f.to):
		return nil, fmt.Errorf("-to is follow, copying or complete, not %q", f.to)
	case action != "advance" && (f.set["to"] || f.set["percent"] || f.set["labels"]):
		return nil, errors.New("-to, -percent and -labels are for advance")
	case action != "freeze" && f.off:
		return nil, errors.New("-off is for freeze")
	case action != "status" && f.http != "":
		return nil, errors.New("-http is for status")
	case f.http == "" && f.freezes:
		return nil, errors.New("-freeze-on-failover is for status -http")
	case f.http != "" && f.json:
		return nil, errors.New("-http serves JSON, too, with ?format=json; leave -json out")
	}
	if err := cmp.Or(f.checkWalk(action), f.checkRepair(action)); err != nil {
		return nil, err
	}
	return f.records(action)
}

// run looks at both stores, and publishes the next stage if it may.
func (f *cutoverFlags) run(ctx context.Context, action string, s cutoverStores, records []cutoverstatus.Record) (
	a cutoverAnswer, err error,
) {
	a = cutoverAnswer{Name: f.name, State: operate.GateUnknown, Gates: []operate.Gate{}, Processes: []operate.Process{}}
	present, oneErr := cutover.Current(ctx, f.name, s.old, s.new)
	if oneErr != nil && present.Epoch == 0 {
		return a, oneErr
	}
	a.Stage, a.Next = present, f.next(action, present)
	again := present.Epoch > 0 && text(a.Next) == text(present)
	if !again {
		a.Next.Epoch = present.Epoch + 1
	}
	if err := a.Next.Validate(); err != nil {
		return a, err
	}
	a.Steps = f.steps(ctx, s, a.Next, again)
	a.Already = len(a.Steps) == 0
	var census []operate.Process
	if action == "advance" && !again || oneErr == nil { // freeze and reverse only show it
		if census, err = operate.Census(ctx, f.name, s.old); err != nil && action == "advance" {
			return a, err
		}
	}
	a.Processes = append(a.Processes, census...)
	a.Gates = operate.Ready(present, a.Next, f.evidence(census, records))
	if a.State = cutoverstatus.Worst(a.Gates); again {
		a.Gates, a.State = a.Gates[:1], operate.GateOpen
	}
	if !again && drained(present) && a.Next.Phase != cutover.Complete {
		a.Voids = fmt.Sprintf("A new epoch voids the sweeps and verifies of epoch %d: repeat them before complete.", present.Epoch)
	}
	if action == "advance" && present.Phase == cutover.Follow && a.Next.Phase == cutover.Copying {
		first, err := f.preflight(ctx, s)
		if err != nil {
			return a, err
		}
		a.Gates = append(a.Gates, first...)
		// A setting of a server that cannot be read is only shown.
		if f.dryRun || cutoverstatus.Worst(first) == operate.GateClosed {
			a.State = cutoverstatus.Worst(a.Gates)
		}
	}
	if f.dryRun || a.Already || a.State != operate.GateOpen {
		return a, nil
	}
	next := a.Next
	next.Epoch = present.Epoch
	if err = operate.Publish(ctx, f.name, s.old, s.new, next, a.Gates...); err != nil {
		a.Steps = nil // the error tells which of them were taken
	}
	a.Published = err == nil
	return a, err
}

// steps lists the writes of a stage. A stage that is published again is written only into a store that lacks it.
func (f *cutoverFlags) steps(ctx context.Context, s cutoverStores, next cutover.Stage, again bool) (steps []string) {
	for i, store := range []rmw.Reader{s.old, s.new} {
		if again { // else a freeze would wait once more for a store that is away
			if has, err := cutover.Current(ctx, f.name, store, store); err == nil && text(has) == text(next) {
				continue
			}
		}
		steps = append(steps, fmt.Sprintf("write stage %v with epoch %d into the %s store", next, next.Epoch, []string{"old", "new"}[i]))
	}
	return steps
}

// text has all that two equal stages have in common.
func text(s cutover.Stage) string {
	return fmt.Sprint(s.Epoch, s.Phase, s.Percent, s.Freeze, len(s.Labels), s.Labels)
}

// drained says whether sweeps and verifies at the stage count for complete.
func drained(s cutover.Stage) bool {
	return s.Phase == cutover.Copying && s.Percent == 100 && len(s.Labels) == 0 && !s.Freeze
}

// preflight returns the conditions of the servers, and of the new store's names, for the first move.
func (f *cutoverFlags) preflight(ctx context.Context, s cutoverStores) (gates []operate.Gate, err error) {
	store, closeStore := f.store(s)
	defer func() { err = errors.Join(err, closeStore()) }()
	cfg := f.walkConfig(s)
	if f.oldMasters != "" {
		if err := operate.CheckStores(ctx, store, cfg); err != nil {
			return nil, err
		}
	}
	cfg.Masters = nil // plan looks at the old store's keys
	return operate.Preflight(ctx, store, cfg)
}

// next returns the stage after the action; for status, the stage after a typical advance.
func (f *cutoverFlags) next(action string, present cutover.Stage) cutover.Stage {
	next := present
	switch action {
	case "freeze":
		next.Freeze = !f.off
	case "reverse":
		next.Phase = cutover.Reverse
	case "advance":
		_ = next.Phase.UnmarshalText([]byte(f.to)) // check has
		if f.set["percent"] {
			next.Percent = f.percent
		}
		if f.set["labels"] {
			next.Labels = strings.FieldsFunc(f.labels, func(r rune) bool { return r == ',' })
		}
	default:
		switch {
		case drained(present), present.Phase == cutover.Complete:
			next.Phase = cutover.Complete
		default:
			next = cutover.Stage{Phase: cutover.Copying, Percent: 100}
		}
	}
	return next
}

func (f *cutoverFlags) write(w io.Writer, a cutoverAnswer) error {
	if f.json {
		return encode(w, a)
	}
	if len(a.Gates) == 0 {
		return nil // the error says why
	}
	say(w, "%s", wrapped(fmt.Sprintf("Cut-over %s: %v, epoch %d", a.Name, a.Stage, a.Stage.Epoch)))
	processes := wrap.NewTable("process", "#epoch", "build", "heartbeat", "error")
	for _, p := range a.Processes {
		processes.Row(p.Name, int64(p.Epoch), p.Build, p.At.Format(time.DateTime), p.Error)
	}
	if !processes.Empty() {
		say(w, "\n%s", processes)
	}
	say(w, "\n%s", wrapped(fmt.Sprintf("Next: %v: %s", a.Next, a.State)))
	sayGates(w, a.Gates)
	lead := "not done: "
	if a.Published {
		lead = "done: "
	}
	for _, step := range a.Steps {
		say(w, "%s", wrapped(lead+step))
	}
	if a.Already {
		say(w, "%s", wrapped(fmt.Sprintf("already at %v, epoch %d, in both stores: nothing to do", a.Stage, a.Stage.Epoch)))
	}
	if a.Stage.Freeze && a.Next.Freeze && a.State == operate.GateOpen {
		say(w, "%s", wrapped("The stage stays frozen: no key moves before freeze -off."))
	}
	if a.Voids != "" && a.State == operate.GateOpen {
		say(w, "%s", wrapped(a.Voids))
	}
	return nil
}
