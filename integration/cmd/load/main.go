// a promise was broken; 2 the run was not possible.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/unwatch/unwatch/integration/internal/load"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends it at once
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("load", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var cfg load.Config
	flags.DurationVar(&cfg.Duration, "duration", time.Minute, "how long the load lasts that is judged")
	flags.Uint64Var(&cfg.Seed, "seed", 0, "what chance comes from; 0: of the clock")
	flags.IntVar(&cfg.Keys, "keys", 10_000, "how many keys there are")
	flags.IntVar(&cfg.Goroutines, "goroutines", 1000, "how many goroutines update them")
	flags.IntVar(&cfg.Pool, "pool", 32, "how many connections all stores have together")
	flags.StringVar(&cfg.Topology, "topology", "redis", "the servers: "+strings.Join(load.Topologies(), ", "))
	flags.BoolVar(&cfg.OnDemand, "on-demand", false, "update without the lock where nobody contends: Config.LockOnDemand")
	flags.IntVar(&cfg.Sweep, "sweep", 0, "how many keys a second a sweep moves beside the updates, once as a control without this limit; 0: no cut-over")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if flags.NArg() > 0 {
		_, _ = fmt.Fprintln(stderr, "load: want flags only; see -h")
		return 2
	}
	if cfg.Seed == 0 {
		cfg.Seed = uint64(time.Now().UnixNano())
	}
	began := time.Now()
	cfg.Progress = func(text string) {
		_, _ = fmt.Fprintf(stderr, "%4.0f s  %s\n", time.Since(began).Seconds(), text)
	}
	_, _ = fmt.Fprintf(stdout, "seed %d\n", cfg.Seed)
	report, err := load.Run(ctx, cfg)
	if err == nil {
		err = report.Table(stdout)
	}
	switch {
	case err != nil:
		_, _ = fmt.Fprintln(stderr, "load:", err)
		return 2
	case report.Bad():
		return 1
	}
	return 0
}
