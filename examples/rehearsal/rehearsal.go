package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/unwatch/unwatch/examples/rehearsal/internal/events"
)

const (
	// processes is the number of processes, each with its own client and store.
	processes = 4

	// beginning is the number of recorded events without -all. The in-process engine
	// allocates a Lua interpreter per script, so the whole recording takes half a minute.
	beginning = 4000
)

// rehearsal is one run of the program.
type rehearsal struct {
	cfg    config
	stage  *stage
	folder *folder // nil: no reports
	screen *screen
	stream []numbered
	of     int // number of events in total
	began  time.Time

	legacy, cas, lock  result // results of the runs so far
	unguarded, guarded result
	rows               []row
	broken             []string // broken promises
}

// run plays all acts and returns the exit code.
func run(ctx context.Context, cfg config, stdout, stderr io.Writer) int {
	r := &rehearsal{cfg: cfg, screen: newScreen(stdout), began: time.Now()}
	err := r.all(ctx)
	switch {
	case ctx.Err() != nil:
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			err = nil
		}
		r.interrupted(err)
		return exitInterrupted
	case errors.As(err, new(usage)):
		say(stderr, "rehearsal: %v\n", err)
		return exitUsage
	case err != nil:
		say(stderr, "rehearsal: %v\n", err)
		return exitBroken
	case len(r.broken) > 0:
		return exitBroken
	}
	return exitOK
}

func (r *rehearsal) all(ctx context.Context) (err error) {
	if err := r.readStream(); err != nil {
		return usage{err}
	}
	if r.folder, err = openFolder(r.cfg); err != nil {
		return usage{err}
	}
	defer func() { err = errors.Join(err, r.folder.close()) }()
	r.stage, err = newStage(ctx, r.cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.stage.close()) }()

	r.head()
	acts := []func(context.Context) error{r.actLegacy, r.actRefused, r.actSwapped, r.actStalled}
	if !r.cfg.noShadow {
		acts = append(acts, r.actShadow)
	}
	for _, act := range acts {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := act(ctx); err != nil {
			return err
		}
	}
	if ctx.Err() == nil {
		r.closing()
	}
	return ctx.Err()
}

// readStream reads the recording or the event file.
func (r *rehearsal) readStream() error {
	if r.cfg.events != "" {
		f, err := os.Open(r.cfg.events)
		if err != nil {
			return err
		}
		defer f.Close() //nolint:errcheck // only read
		own, err := events.Read(f, r.cfg.events)
		r.stream, r.of = number(own), len(own)
		return err
	}
	recorded, err := events.Recorded()
	if err != nil {
		return err
	}
	r.of = len(recorded)
	limit := r.cfg.limit
	if limit == 0 {
		limit = beginning
		if r.cfg.all || r.cfg.proxy != "" {
			limit = len(recorded)
		}
	}
	r.stream = number(recorded[:min(limit, len(recorded))])
	return nil
}

// kept records the promises that a run broke.
func (r *rehearsal) kept(res result) {
	a := res.audit
	for _, n := range []struct {
		what string
		n    int
	}{
		{"lost", len(a.Lost)}, {"doubled", len(a.Doubled)}, {"written though refused", len(a.Phantom)},
	} {
		if n.n > 0 {
			r.broken = append(r.broken, fmt.Sprintf("%s: %s updates %s", res.path, count(n.n), n.what))
		}
	}
	switch {
	case len(a.Different) > 0 && len(a.Lost)+len(a.Doubled)+len(a.Phantom) == 0:
		r.broken = append(r.broken, fmt.Sprintf("%s: %s rooms are not what their events make", res.path, count(len(a.Different))))
	case a.Acknowledged == 0:
		r.broken = append(r.broken, res.path+": not one update was acknowledged")
	}
	if res.replay.broken() {
		r.broken = append(r.broken, fmt.Sprintf("%s: given up after %d errors", res.path, tooMany))
	}
}
