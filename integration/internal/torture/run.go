package torture

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// Config configures a run.
type Config struct {
	Duration time.Duration // approximate total; the cells share it
	Seed     uint64
	Dir      string // the directory for histories and logs of failures; "": a temporary one

	// Only selects the cells whose "topology/nemesis", or "topology/bank/nemesis", is or contains this. Controls are "control/NAME",
	// mitigations "mitigation/NAME", and cells of isolation "isolation/TOPOLOGY/FAULT".
	Only string

	// Progress may be called concurrently.
	Progress func(done, of int, what string)
}

// Report is the result of a run.
type Report struct {
	Config
	Results     []*Result
	Controls    []ControlResult
	Mitigations []*Result
	Isolations  []*Result
	Banks       []*Result
	Skipped     []string // cells that cannot run here, and the reason
	Omitted     []string // cells that are too long for this duration
	Kept        []string // the folders of failures
}

// ControlResult tells whether a control's defect was detected.
type ControlResult struct {
	Control
	*Result
	Found bool
}

// Bad reports whether a promise was broken, or a control's defect was missed.
func (r *Report) Bad() bool {
	return slices.ContainsFunc(r.Results, func(c *Result) bool { return c.Bad() }) ||
		slices.ContainsFunc(r.Controls, func(c ControlResult) bool { return !c.Found }) ||
		slices.ContainsFunc(slices.Concat(r.Mitigations, r.Isolations, r.Banks), func(c *Result) bool { return c.Bad() })
}

// atOnce topologies run side by side, each with its own servers: a cell waits for most of its time. Loads run alone
// after them.
const atOnce = 2

// A defect shows by chance, so a control gets several tries. The rarest is "no token", which shows in every
// second try of 4 seconds, and in fewer on a busy machine: 20 tries miss it once in a million runs, or once
// in 3000 if one try in three shows it. Detection ends the tries, so a high limit costs nothing.
const (
	controlLeast = 4 * time.Second
	controlTries = 20
)

// Run runs all cells. It returns the results until ctx ended, and an error if ctx or a server that does not
// start prevented the rest.
func Run(ctx context.Context, cfg Config) (*Report, error) {
	report := &Report{Config: cfg}
	dir, err := os.MkdirTemp("", "unwatch-torture-")
	if err != nil {
		return report, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	cells := plan(cfg.Only)
	if cfg.Only == "" {
		report.Omitted = shorten(cells, cfg.Duration, cfg.Seed)
	}
	total := 0
	for _, of := range cells {
		total += len(of)
	}
	if total == 0 {
		return report, fmt.Errorf("no cell has %q in its name; see -list", cfg.Only)
	}
	var done atomic.Int32
	run := func(ctx context.Context, part *Report, t Topology, alone bool) error {
		env, err := t.Start(ctx, filepath.Join(dir, fmt.Sprint(t.Name, " alone ", alone)))
		if err != nil {
			return err
		}
		defer env.Close()
		for i, p := range cells[t.Name] {
			if p.alone() != alone {
				continue
			}
			if n := done.Add(1); cfg.Progress != nil {
				cfg.Progress(int(n), total, p.name(t))
			}
			if p.nemesis.clientFaults.steps && stepWall == nil {
				part.Skipped = append(part.Skipped, p.name(t)+": a wall clock steps on linux/amd64 only")
				continue
			}
			d := cfg.Duration / time.Duration(total)
			if !alone {
				d *= atOnce
			}
			part.play(ctx, env, p, d, cfg.Seed+uint64(i))
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
		return nil
	}
	var parts []*Report
	all := func(alone bool, limit int) error {
		running, ctx := errgroup.WithContext(ctx)
		running.SetLimit(limit)
		for _, t := range slices.Concat(Topologies(), quorums(), apart()) {
			if !slices.ContainsFunc(cells[t.Name], func(p planned) bool { return p.alone() == alone }) {
				continue
			}
			part := &Report{Config: cfg}
			parts = append(parts, part)
			running.Go(marked(t.Name, func() error { return run(ctx, part, t, alone) }))
		}
		return running.Wait()
	}
	if err = all(false, atOnce); err == nil {
		err = all(true, 1)
	}
	for _, part := range parts {
		report.Results = append(report.Results, part.Results...)
		report.Controls = append(report.Controls, part.Controls...)
		report.Mitigations = append(report.Mitigations, part.Mitigations...)
		report.Isolations = append(report.Isolations, part.Isolations...)
		report.Banks = append(report.Banks, part.Banks...)
		report.Skipped = append(report.Skipped, part.Skipped...)
		report.Kept = append(report.Kept, part.Kept...)
	}
	return report, err
}

func (r *Report) play(ctx context.Context, env *Environment, p planned, d time.Duration, seed uint64) {
	// The wait at the end of each cell is a part of its time.
	d = max(d-settle, time.Second, p.nemesis.least)
	if p.control != nil {
		r.catch(ctx, env, p, max(d, controlLeast), seed)
		return
	}
	if p.isolation != nil {
		results := env.isolate(ctx, *p.isolation, seed, isolationStores())
		if ctx.Err() != nil {
			return
		}
		if i := slices.IndexFunc(results, func(c *Result) bool { return c.Bad() }); i >= 0 {
			r.save(results[i], env) // all have the same servers
		}
		r.Isolations = append(r.Isolations, results...)
		return
	}
	if p.trial != nil {
		results := p.trial.play(ctx, env, p.nemesis, d, seed)
		if ctx.Err() != nil {
			return
		}
		for _, result := range results {
			r.saveOrDrop(result, env)
		}
		r.Mitigations = append(r.Mitigations, results...)
		return
	}
	v := product()
	v.bank = p.bank
	result := cell(ctx, env, p.nemesis, d, seed, v)
	if ctx.Err() != nil {
		return
	}
	if p.bank {
		r.Banks = append(r.Banks, result)
	} else {
		r.Results = append(r.Results, result)
	}
	r.saveOrDrop(result, env)
}

// saveOrDrop keeps a failure, and drops the history of every other cell.
func (r *Report) saveOrDrop(result *Result, env *Environment) {
	if result.Bad() {
		r.save(result, env)
	}
	result.drop()
}

// save writes the history of a cell and the logs of its servers to a folder.
func (r *Report) save(result *Result, env *Environment) {
	folder, err := result.save(r.Dir, env)
	if err != nil {
		result.Errors = append(result.Errors, "the history and the logs could not be kept: "+err.Error())
	}
	if folder != "" {
		r.Kept = append(r.Kept, folder)
	}
}

func (c *Control) play(ctx context.Context, env *Environment, n Nemesis, d time.Duration, seed uint64) *Result {
	if c.isolation != nil {
		all := Isolations()
		at := slices.IndexFunc(all, func(i Isolation) bool { return i.Topology.Name == c.Topology && i.Fault == c.Nemesis })
		return env.isolate(ctx, all[at], seed, []isolationStore{measure(), c.isolation()})[1]
	}
	if c.lock == nil {
		return cell(ctx, env, n, d, seed, c.variant)
	}
	t := &trial{Place{c.Topology, c.Nemesis}, []Mitigation{{Name: c.Name, open: c.lock, works: holds(), unfenced: c.unfenced}}}
	return t.play(ctx, env, n, d, seed)[0]
}

// catch runs a control until its defect is detected.
func (r *Report) catch(ctx context.Context, env *Environment, p planned, d time.Duration, seed uint64) {
	for try := range uint64(controlTries) {
		result := p.control.play(ctx, env, p.nemesis, d, seed+try)
		if ctx.Err() != nil {
			return
		}
		found := p.control.Caught(result.Verdict)
		if !found && try == controlTries-1 {
			r.save(result, env)
		}
		result.drop()
		if found || try == controlTries-1 {
			r.Controls = append(r.Controls, ControlResult{*p.control, result, found})
			return
		}
	}
}
