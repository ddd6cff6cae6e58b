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
	// processes is how many processes the service has, each with a client and a
	// store of its own.
	processes = 4

	// beginning is how much of the recording runs without -all: the in-process
	// engine makes a Lua interpreter for each script, so all of it would take half
	// a minute on a small machine.
	beginning = 4000
)

// rehearsal is one run of the program.
type rehearsal struct {
	cfg    config
	stage  *stage
	folder *folder // nil: no reports are wanted
	screen *screen
	stream []numbered
	of     int // how many events there are in all
	began  time.Time

	legacy, cas, lock  result // of the runs, as far as they were played
	unguarded, guarded result
	rows               []row
	broken             []string // promises that were not kept
}

// run plays everything and returns the exit code.
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

// readStream reads the recording, or the user's own stream.
func (r *rehearsal) readStream() error {
	if r.cfg.events != "" {
		f, err := os.Open(r.cfg.events)
		if err != nil {
			return err
		}
		defer f.Close() //nolint:errcheck // it was only read
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

// kept notes whether a run kept what its path promises.
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
