package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// flashsale is one run of the program.
type flashsale struct {
	cfg    config
	screen screen
	stderr io.Writer
	stage  *stage
	began  time.Time
	rounds []*round
}

// run holds the sales and returns the exit code.
func run(ctx context.Context, cfg config, stdout, stderr io.Writer) int {
	f := &flashsale{cfg: cfg, screen: newScreen(stdout), stderr: stderr, began: time.Now()}
	err := f.all(ctx)
	if ctx.Err() != nil {
		f.screen.text("", yellow, "Interrupted.")
		return exitInterrupted
	}
	if err != nil {
		say(stderr, "flashsale: %v\n", err)
		return exitBroken
	}
	return f.verdict()
}

func (f *flashsale) all(ctx context.Context) (err error) {
	if f.stage, err = newStage(ctx, f.cfg); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.stage.close()) }()
	f.head()
	for _, name := range f.cfg.rounds {
		r, err := playRound(ctx, f.cfg, f.stage, name)
		f.rounds = append(f.rounds, r)
		if len(r.receipts) > 0 {
			f.show(r)
		}
		if r.leftover != nil {
			say(f.stderr, "flashsale: %v\n", r.leftover)
		}
		if err != nil {
			return fmt.Errorf("round %s: %w", name, err)
		}
	}
	return nil
}

// head says what is going to happen.
func (f *flashsale) head() {
	c := f.cfg
	f.screen.text("", bold, "Flash sale: %s items, %s orders, %d processes with %d workers each",
		count(c.stock), count(demand*c.stock), c.processes, c.workers)
	where := fmt.Sprintf("The proxy (%s) runs in this process; the traffic is real, over loopback TCP.", c.profile.Name())
	if f.stage.inProcess == nil {
		where = fmt.Sprintf("The proxy (%s) is at %s. All keys begin with %s and expire.", c.profile.Name(), f.stage.addr, f.stage.prefix)
	}
	f.screen.text("", normal, "%s One order in ten is a buyer's second click, served by another worker. "+
		"The proof: what is stored in the end is compared, order by order, with what each process was told.", where)
}

// verdict prints what was shown, and returns the exit code.
func (f *flashsale) verdict() int {
	code, s := exitOK, f.screen
	s.text("", normal, "")
	for _, r := range f.rounds {
		broken := r.audit.broken()
		switch {
		case r.name == naiveRound && r.audit.Oversold > 0:
			s.text("", normal, "VERDICT: naive sold %s items that were not there.", count(r.audit.Oversold))
		case r.name == naiveRound:
			code = exitBroken
			s.text("", red, "VERDICT: naive, the control, did not oversell, so nothing was shown; raise -workers.")
		case len(broken) == 0:
			s.text("", green, "VERDICT: unwatch sold %s of %s items, each once, to as many buyers. "+
				"Every order that was told \"sold\" is stored, once.", count(len(r.stored.Orders)), count(r.plan.Stock))
		default:
			code = exitBroken
			s.text("", red, "VERDICT: unwatch: A PROMISE WAS BROKEN.")
			for _, b := range broken {
				s.text("   ", red, "%s", b)
			}
		}
	}
	s.text("", normal, "%.1f s in all.", time.Since(f.began).Seconds())
	return code
}
