package plan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/unwatch/unwatch/bench/internal/lab"
	"github.com/unwatch/unwatch/bench/internal/result"
	"github.com/unwatch/unwatch/bench/internal/worker"
)

// Runner runs scenarios.
type Runner struct {
	Program     string // of the child processes: this program
	Runs        int    // how often to run the repeated scenarios
	Repetitions int
	Slot        time.Duration
	Window      time.Duration  // of scenarios that hold locks
	Shrink      int            // divides locks and longer slots, and leases by 4 at most, for tests; else 1
	Scenarios   *regexp.Regexp // nil: all
	Impls       *regexp.Regexp // nil: all
	Progress    io.Writer

	lab     *lab.Lab
	file    *result.Results
	refused map[string]string // reason by scenario and implementation
}

// Run measures the selected scenarios and adds the results to file, including those before an
// error.
func (r *Runner) Run(ctx context.Context, dir string, file *result.Results) error {
	r.lab, r.file, r.refused = lab.New(r.Program, dir), file, map[string]string{}
	defer r.lab.Close()
	chosen := r.chosen()
	if len(chosen) == 0 {
		return errors.New("no scenario has that name")
	}
	for _, s := range chosen { // start all servers before the first measurement
		if err := r.prepare(ctx, s.Network); err != nil {
			return err
		}
	}
	file.Machine = r.lab.Machine(ctx)
	for run := 1; run <= max(1, r.Runs); run++ {
		for _, s := range chosen {
			if run > 1 && !s.Again {
				continue
			}
			if run > 1 {
				s.Impls = slices.DeleteFunc(slices.Clone(s.Impls), func(name string) bool { return !slices.Contains(contenders(), name) })
			}
			if err := r.scenario(ctx, s, run); err != nil {
				return fmt.Errorf("%s: %w", s.Name, err)
			}
		}
	}
	return nil
}

func (r *Runner) chosen() []Scenario {
	var list []Scenario
	for _, s := range Scenarios() {
		if !matches(r.Scenarios, s.Name) {
			continue
		}
		var impls []string
		for _, name := range s.Impls {
			if matches(r.Impls, name) {
				impls = append(impls, name)
			}
		}
		if s.Impls = impls; len(impls) > 0 {
			list = append(list, s)
		}
	}
	return list
}

func matches(re *regexp.Regexp, name string) bool { return re == nil || re.MatchString(name) }

func (r *Runner) prepare(ctx context.Context, n lab.Network) error {
	path, err := r.lab.Path(ctx, n)
	if err != nil || r.file.RoundTrip[string(n)] > 0 {
		return err
	}
	took, err := path.RoundTrip(ctx)
	if n != lab.Proxy { // some versions do not support PING
		if err != nil {
			return err
		}
		r.file.RoundTrip[string(n)] = took
	}
	return nil
}

func (r *Runner) scenario(ctx context.Context, s Scenario, run int) error {
	r.say("%s: %s, run %d", s.Name, s.Title(), run)
	repetitions := r.Repetitions
	if s.Locks > 0 { // long and steady
		repetitions = max(1, repetitions/3)
	}
	for range repetitions {
		for _, name := range s.Impls {
			if err := ctx.Err(); err != nil {
				return err
			}
			if s.Locks > 0 {
				if err := r.hold(ctx, s, name); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				continue
			}
			slot, err := r.slot(ctx, s, name, run)
			if crash, ok := errors.AsType[*worker.CrashError](err); ok && ctx.Err() == nil {
				slot.Crashed, err = crash.Error(), nil
				r.say("  %-18s CRASHED: %v", name, crash)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			r.file.Slots = append(r.file.Slots, *slot)
		}
	}
	return nil
}

// slotLimit is the extra time after which a slot is aborted. Workers have shorter limits, so
// it ends a slot only if the bench itself fails.
const slotLimit = time.Minute

func (r *Runner) slot(ctx context.Context, s Scenario, name string, run int) (*result.Slot, error) {
	slot := &result.Slot{Scenario: s.Name, Impl: name, Run: run, Length: r.Slot}
	if s.Length > 0 {
		slot.Length = s.Length / time.Duration(max(1, r.Shrink))
	}
	if slot.Refused = r.refused[s.Name+" "+name]; slot.Refused != "" {
		return slot, nil
	}
	path, err := r.lab.Path(ctx, s.Network)
	if err != nil {
		return nil, err
	}
	if err := path.Clear(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, slot.Length+slotLimit)
	defer cancel()
	keys := s.keys()
	var children []*worker.Child
	defer func() {
		for _, c := range children {
			c.Stop()
		}
	}()
	for p := range keys {
		job := &worker.UpdateJob{
			Impl: name, Addr: path.AddrOf(name), Via: path.Proxied, Keys: keys[p], Slot: slot.Length,
			Fn: s.Fn, Background: s.Background, Dir: path.Dir, Alternate: s.Alternate, Reader: s.Reader,
		}
		if p >= s.Processes {
			job.Impl = "watch"
		}
		c, err := worker.Start(ctx, r.Program, worker.Job{Update: job})
		if err != nil {
			return nil, err
		}
		children = append(children, c)
	}
	for _, c := range children {
		ready, err := c.Ready()
		if err != nil {
			return slot, err
		}
		if ready.Refused != "" {
			slot.Refused = ready.Refused
			if path.Proxied { // permanent
				r.refused[s.Name+" "+name] = ready.Refused
			}
			r.say("  %-18s refused: %s", name, ready.Refused)
			return slot, nil
		}
	}
	err = r.measure(ctx, path, slot, children, keys)
	if len(slot.Workers) > s.Processes {
		slot.Workers, slot.Beside = slot.Workers[:s.Processes], slot.Workers[s.Processes:]
	}
	if err == nil {
		r.say("  %-18s %10.0f/s   %s", slot.Impl, slot.Rate(), remarks(slot))
	}
	return slot, err
}

// measure runs the slot.
func (r *Runner) measure(ctx context.Context, path *lab.Path, slot *result.Slot, children []*worker.Child, keys [][][]string) error {
	before, err := path.Counters(ctx)
	if err != nil {
		return err
	}
	load := path.Watch()
	for _, c := range children {
		if err := c.Go(); err != nil {
			return err
		}
	}
	for _, c := range children {
		answer, err := c.Answer()
		if err != nil {
			return err
		}
		slot.Workers = append(slot.Workers, *answer.Update)
	}
	slot.ForeignCores = load.Stop().Foreign(slot.Client().CPU)
	after, err := path.Counters(ctx)
	if err != nil {
		return err
	}
	slot.Server = after.Sub(before)
	slot.Stored, err = path.Stored(ctx, distinct(keys))
	slot.Stored /= int64(max(1, strings.Count(keys[0][0][0], apart)+1))
	return err
}

// remarks returns warnings about a slot.
func remarks(s *result.Slot) string {
	var text string
	for _, n := range []struct {
		what string
		n    int64
	}{{"LOST", s.Lost()}, {"STORED TWICE", s.Twice()}, {"HUNG", s.Hung()}, {"failed", s.Failed()}} {
		if n.n > 0 {
			text += fmt.Sprintf("%d %s  ", n.n, n.what)
		}
	}
	if err := s.Err(); err != "" {
		text += "(" + err + ")  "
	}
	if s.ForeignCores > result.Quiet {
		text += fmt.Sprintf("foreign load %.2f cores", s.ForeignCores)
	}
	return text
}

func (r *Runner) say(format string, args ...any) {
	if r.Progress != nil {
		_, _ = fmt.Fprintf(r.Progress, format+"\n", args...)
	}
}
