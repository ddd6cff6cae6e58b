// Command bench compares this project with its peers. It measures updates of distinct keys
// and of one hot key, by one and by four processes. The networks are loopback, one with a
// delay, and a proxy. It also measures the cost of many held locks, and compares lock services.
//
// It starts servers on free ports, and prints Markdown tables. With -out it writes a line for
// each slot to a file, for benchstat.
//
//	go run ./cmd/bench -run 'hot64|d-hot64' -impl 'watch|unwatch.*'
//	go run ./cmd/bench -run 'lock-.*' -n 1 -slot 300ms
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"

	"github.com/unwatch/unwatch/bench/internal/peers"
	"github.com/unwatch/unwatch/bench/internal/plan"
	"github.com/unwatch/unwatch/bench/internal/report"
	"github.com/unwatch/unwatch/bench/internal/result"
	"github.com/unwatch/unwatch/bench/internal/worker"
)

func main() {
	if err := start(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// start runs the bench, or one of its worker processes.
func start() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) == 2 && os.Args[1] == worker.Argument {
		return worker.Main(ctx, os.Stdin, os.Stdout)
	}
	return run(ctx, os.Args[1:])
}

// pattern is a flag with a regular expression that matches whole names.
type pattern struct{ re *regexp.Regexp }

func (p *pattern) String() string { return "" }

func (p *pattern) Set(text string) (err error) {
	p.re, err = regexp.Compile("^(?:" + text + ")$")
	return err
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	var scenarios, impls pattern
	flags.Var(&scenarios, "run", "measure only the scenarios with a `NAME` that matches: unc64, 'd-.*', 'hot64|hot4x16'")
	flags.Var(&impls, "impl", "measure only the implementations with a `NAME` that matches: 'watch|unwatch'")
	repetitions := flags.Int("n", 3, "how often each slot is repeated")
	runs := flags.Int("runs", 3, "how often the scenarios of a hot key are run from the beginning, minutes apart")
	slot := flags.Duration("slot", 600*time.Millisecond, "how long a slot is")
	quick := flags.Bool("quick", false, "once, with short slots: to see that everything runs")
	full := flags.Bool("full", false, "five times, with slots of 2 s: takes about half an hour")
	window := flags.Duration("window", 6*time.Second, "how long held locks are watched")
	shrink := 1
	out := flags.String("out", "", "write a line for each slot to this `FILE.txt`, for benchstat")
	flags.Usage = func() {
		flags.PrintDefaults()
		_, _ = fmt.Fprint(flags.Output(), "\nscenarios of -run:\n")
		for _, s := range plan.Scenarios() {
			_, _ = fmt.Fprintf(flags.Output(), "  %-18s %s\n", s.Name, s.Title())
		}
		_, _ = fmt.Fprint(flags.Output(), "\nimplementations of -impl:\n")
		for _, name := range peers.Names() {
			_, _ = fmt.Fprintf(flags.Output(), "  %-18s %s\n", name, peers.What(name))
		}
		for _, name := range peers.Keepers() {
			_, _ = fmt.Fprintf(flags.Output(), "  %-18s %s\n", name+" (held)", peers.KeeperWhat(name))
		}
	}
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	switch {
	case *quick:
		*runs, *repetitions, *slot, *window, shrink = 1, 1, 200*time.Millisecond, 2*time.Second, 5
	case *full:
		*repetitions, *slot, *window = 5, 2*time.Second, 10*time.Second
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "unwatch-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()

	results := &result.Results{Began: time.Now(), RoundTrip: map[string]time.Duration{}}
	runner := &plan.Runner{
		Program: program, Runs: *runs, Repetitions: *repetitions, Slot: *slot,
		Window: *window, Shrink: shrink,
		Scenarios: scenarios.re, Impls: impls.re, Progress: os.Stderr,
	}
	failed := runner.Run(ctx, dir, results)
	results.Ended = time.Now()
	if ctx.Err() != nil {
		failed = errors.New("interrupted")
	}
	if *out != "" {
		var lines bytes.Buffer
		_ = report.Lines(&lines, results) // a Buffer returns no error
		if err := os.WriteFile(*out, lines.Bytes(), 0o644); err != nil {
			return err
		}
	}
	if err := report.Markdown(os.Stdout, results); err != nil {
		return err
	}
	return failed
}
