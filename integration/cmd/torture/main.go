// Torture updates values on real servers while nemeses inject faults, and fails if an acknowledged update
// is lost, executed twice, or seen in the wrong order.
//
//	go run ./cmd/torture -duration 5m
//	go run ./cmd/torture -seed 7 -only redis/stall
//
// It needs redis-server, nutcracker, etcd, ZooKeeper and PostgreSQL. Exit codes: 0 all promises held, and every negative control
// was detected; 1 otherwise; 2 the run was not possible.
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

	"github.com/redis/go-redis/v9/logging"

	"github.com/unwatch/unwatch/integration/internal/torture"
)

func main() {
	if was, err := torture.Child(); was {
		if err != nil {
			_, _ = fmt.Fprintln(os.Stderr, "torture:", err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends it at once
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("torture", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var cfg torture.Config
	flags.DurationVar(&cfg.Duration, "duration", 3*time.Minute, "how long all cells take together, about")
	flags.Uint64Var(&cfg.Seed, "seed", 0, "what chance comes from; 0: of the clock")
	flags.StringVar(&cfg.Only, "only", "", "play only the cells with this in their `NAME`, as redis/stall, control/, mitigation/ or isolation/")
	flags.StringVar(&cfg.Dir, "out", "", "keep histories of failures and logs of their servers in this `FOLDER`; empty: a temporary one")
	list := flags.Bool("list", false, "list topologies, nemeses, cells of isolation, controls and mitigations")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if flags.NArg() > 0 || cfg.Duration <= 0 {
		_, _ = fmt.Fprintln(stderr, "torture: want flags only, and a -duration above 0; see -h")
		return 2
	}
	if *list {
		return enumerate(stdout)
	}
	if cfg.Seed == 0 {
		cfg.Seed = uint64(time.Now().UnixNano())
	}
	logging.Disable() // go-redis logs every failover
	began := time.Now()
	cfg.Progress = func(done, of int, what string) {
		_, _ = fmt.Fprintf(stderr, "%4.0f s  %3d/%d  %s\n", time.Since(began).Seconds(), done, of, what)
	}
	_, _ = fmt.Fprintf(stdout, "seed %d\n", cfg.Seed)
	report, err := torture.Run(ctx, cfg)
	if table := report.Table(stdout); table != nil && err == nil {
		err = table
	}
	switch {
	case err != nil:
		_, _ = fmt.Fprintln(stderr, "torture:", err)
		return 2
	case report.Bad():
		return 1
	}
	return 0
}

func enumerate(w io.Writer) int {
	show := func(kind, name, about string) {
		_, _ = fmt.Fprintf(w, "%s %s\n", kind, name)
		torture.Fold(w, about)
	}
	for _, t := range torture.Topologies() {
		show("topology", t.Name, t.About)
	}
	for _, n := range torture.Nemeses() {
		show("nemesis", n.Name, n.About)
	}
	for _, i := range torture.Isolations() {
		show("isolation", i.Topology.Name+"/"+i.Fault, i.About)
	}
	for _, c := range torture.Controls() {
		show("control", c.Name, c.About)
	}
	for _, r := range torture.Mitigations() {
		var places []string
		for _, place := range r.Where {
			places = append(places, place.Topology+"/"+place.Nemesis)
		}
		show("mitigation", r.Name, r.About+": "+strings.Join(places, ", "))
	}
	return 0
}
