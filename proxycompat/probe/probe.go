package probe

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// errBudget is the cause of a ctx whose budget ended.
var errBudget = errors.New("probe: the budget ended")

// Probe asks an address, HOST:PORT, what it permits. See the package on what it does to
// the servers.
//
// It returns within cfg.Budget, plus a second for deleting its keys; within that second
// if ctx ends, with ctx's cause as the error. If the budget ends the report is of what has
// been asked by then. An address that cannot be asked is a [*ConnectError].
func Probe(ctx context.Context, addr string, cfg Config) (*Report, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := checkAddr(addr); err != nil {
		return nil, err
	}
	began := time.Now()
	p := &prober{
		addr: addr, cfg: cfg, keys: newKeyring(cfg.Prefix),
		report: &Report{Addr: addr, At: began.UTC(), Commands: []Answer{}},
	}
	limited, cancel := context.WithTimeoutCause(ctx, cfg.Budget, errBudget)
	defer cancel()
	err = p.run(limited)
	p.drop()
	p.report.Left = p.cleanUp(ctx)
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("probe: %q: ended before it was done: %w", addr, context.Cause(ctx))
	case err != nil:
		return nil, err
	}
	p.conclude()
	p.report.TookMS = time.Since(began).Milliseconds()
	return p.report, nil
}

// step is one part of the whole.
type step struct {
	name string
	run  func(context.Context) error
}

func (p *prober) run(ctx context.Context) error {
	for _, s := range []step{
		{"connecting", p.greeting},
		{"finding keys", p.settle},
		{"the server", p.askServer},
		{"commands", p.askBattery},
		{"databases", p.askDatabases},
		{"transactions", p.askTransactions},
		{"scripts", p.askScripts},
		{"compare and set", p.askCompareAndSet},
		{"stale reads", p.askReads},
		{"ordering", p.askOrdering},
		{"limits", p.askLimits},
		{"risky commands", p.askRisky},
	} {
		err := s.run(ctx)
		if errors.Is(err, errBudget) && p.report.Base != "" {
			p.report.Unfinished = fmt.Sprintf("the budget of %v ended at %q", p.cfg.Budget, s.name)
			return nil
		}
		if errors.Is(err, errBudget) {
			return &ConnectError{
				Addr: p.addr, Reason: NoAnswer, Err: err,
				what: fmt.Sprintf("the budget of %v ended at %q, too early for a report", p.cfg.Budget, s.name),
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// askBattery asks what every address is asked, and says preliminarily what it is like.
func (p *prober) askBattery(ctx context.Context) error {
	asked := 0
	for _, q := range questions(battery, p.keys) {
		if p.harmsBase(q) {
			continue
		}
		if err := p.ask(ctx, q); err != nil {
			if errors.Is(err, errBudget) && asked >= enough {
				p.conclude()
			}
			return err
		}
		asked++
	}
	p.report.AllCommands = true
	p.conclude()
	return nil
}

// enough is how many commands have to be answered for a report to say something.
const enough = 20

// conclude compares the answers with the profiles.
func (p *prober) conclude() {
	r := p.report
	all, given, err := profiles(p.cfg.Profile, r.Server)
	if err != nil {
		return // the profiles are part of the program; a test rules it out
	}
	r.Likeness = likeness(r.Commands, p.oracle, all)
	r.base, r.Given = r.Likeness[0].profile, false
	if given != nil {
		r.base, r.Given = given, true
	}
	r.Base = r.base.Name()
	r.Differences = differences(r.Commands, p.oracle, r.base)
}
