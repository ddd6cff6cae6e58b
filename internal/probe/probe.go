package probe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

var errBudget = errors.New("probe: the budget ended")

// Probe tests the commands that an address, HOST:PORT, permits. The package comment describes its effects
// on the servers.
//
// It returns within cfg.Budget, plus a second for deleting its keys. If ctx ends, it returns within that
// second with ctx's cause as the error. If the budget ends, the report covers the questions answered so
// far. If the address cannot be probed, or not within the budget, the error is a [*ConnectError].
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
		addr: addr, cfg: cfg, keys: newKeyring(cfg.Prefix), deletes: "DEL",
		report: &Report{
			Addr: addr, At: began.UTC(), Prefix: cfg.Prefix,
			Commands: []Answer{}, Likeness: []Likeness{}, Differences: []Difference{},
		},
	}
	limited, cancel := context.WithTimeoutCause(ctx, cfg.Budget, errBudget)
	defer cancel()
	err = p.run(limited)
	p.drop()
	p.conclude()
	p.cleanUp(ctx)
	if ctx.Err() != nil {
		err = fmt.Errorf("probe: %q: ended before it was done: %w", addr, context.Cause(ctx))
	}
	if err != nil && p.report.Lasting > 0 {
		err = fmt.Errorf("%w; %s", err, p.report.lasting())
	}
	if err != nil {
		return nil, err
	}
	p.report.TookMS = time.Since(began).Milliseconds()
	return p.report, nil
}

// step is one part of the probe.
type step struct {
	name string
	run  func(context.Context) error
}

func (p *prober) run(ctx context.Context) error {
	for _, s := range []step{
		{"connecting", p.greeting},
		{"finding keys", p.settle},
		{"the server", p.askServer},
		{"expiry", p.askExpiry},
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
		if errors.Is(err, errBudget) && p.report.Enough {
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
		if p.all > 0 && !p.report.Enough {
			return nil // an unknown proxy gets no further commands
		}
	}
	return nil
}

// askBattery sends the battery and makes a preliminary comparison.
func (p *prober) askBattery(ctx context.Context) error {
	all := slices.DeleteFunc(questions(battery, p.keys), p.harmsBase)
	p.all = len(all)
	for _, q := range all {
		if !p.mayStay(q) {
			if err := p.ask(ctx, q); err != nil {
				p.conclude()
				return err
			}
		}
	}
	p.report.AllCommands = p.expires
	p.conclude()
	return nil
}

// conclude compares the answers with the profiles, if there are enough answers.
func (p *prober) conclude() {
	r := p.report
	says := 0
	for _, a := range r.Commands {
		if a.Outcome == OK || a.Outcome == Refused || a.Outcome == Closes {
			says++
		}
	}
	r.Enough = p.all > 0 && 2*says >= p.all
	if !r.Enough {
		return
	}
	all, given, err := profiles(p.cfg.Profile, r.Server)
	if err != nil {
		return // the profiles are embedded, and a test parses them
	}
	r.Likeness = likeness(r.Commands, p.oracle, all)
	r.base, r.Given = r.Likeness[0].profile, false
	if given != nil {
		r.base, r.Given = given, true
	}
	r.Base = r.base.Name()
	r.Differences = differences(r.Commands, p.oracle, r.base)
}
