// Flashsale sells the stock of one item from several processes at once, through a Codis-style proxy: first with GET
// and SET, then with package lockupdate. Afterwards it compares each order with the stored value. It needs no server
// and no flags:
//
//	go run ./examples/flashsale
//
// With -proxy, the sale runs through a real proxy. All keys written there begin with a random prefix; they are
// deleted, and expire after 10 minutes if that fails.
package main

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/profilefile"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

func main() { os.Exit(realMain()) }

// realMain returns 1 if the sale failed, a promise was broken or the control showed nothing, 2 after wrong flags, and
// 130 after Ctrl-C.
func realMain() int {
	logging.Disable() // go-redis logs connections that a proxy closed; the errors say the same
	if text := os.Getenv(jobEnv); text != "" {
		// Ctrl-C reaches every process of the terminal. The parent stops the children by closing their stdin, so that
		// they release their locks.
		signal.Ignore(os.Interrupt)
		if err := serve(text, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
	cfg, err := parseFlags(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "flashsale:", err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	return run(ctx, cfg, os.Stdout, os.Stderr)
}

// config is the parsed flags.
type config struct {
	crowd
	proxy, profile string
	prefix         string // of all keys
}

func parseFlags(args []string) (cfg config, err error) {
	fs := flag.NewFlagSet("flashsale", flag.ExitOnError)
	fs.IntVar(&cfg.Processes, "processes", 3, "processes that sell, 1 to 16")
	fs.IntVar(&cfg.Workers, "workers", 8, "orders that each process serves at once, 2 to 64")
	fs.IntVar(&cfg.Stock, "stock", 400, "items for sale, 10 to 1000; twice as many are ordered")
	fs.StringVar(&cfg.proxy, "proxy", "", "`HOST:PORT` of a real proxy without a password; default: one in this process")
	fs.StringVar(&cfg.profile, "profile", "codis", "`NAME` of a profile of proxycompat, such as predixy or codis@3.2, or a profile file")
	_ = fs.Parse(args)
	cfg.prefix = "unwatch-flashsale:" + rand.Text() + ":"
	for _, f := range []struct {
		name             string
		value, low, high int
	}{
		{"-processes", cfg.Processes, 1, 16}, {"-workers", cfg.Workers, 2, 64}, {"-stock", cfg.Stock, 10, 1000},
		{"number of arguments", fs.NArg(), 0, 0},
	} {
		if f.value < f.low || f.value > f.high {
			return cfg, fmt.Errorf("%s is %d; use %d to %d", f.name, f.value, f.low, f.high)
		}
	}
	_, err = openProfile(cfg.profile)
	return cfg, err
}

// openProfile returns the profile of a proxy that can run the updates.
func openProfile(name string) (*proxycompat.Profile, error) {
	profile, err := profilefile.Open(name)
	if err != nil {
		return nil, err
	}
	rule := profile.Rule("EVALSHA")
	switch {
	case profile.Server():
		return nil, fmt.Errorf("-profile %s is a server without a proxy; use a proxy, such as codis", name)
	case rule.Verdict == proxycompat.Refused || rule.Verdict == proxycompat.Closes:
		return nil, fmt.Errorf("-profile %s: EVALSHA is refused: %s; a service finds another Config.Commit with lockupdate.Probe", name, rule.Why)
	}
	return profile, nil
}

// newClient returns a client that sends only commands that the proxy permits.
func newClient(profile *proxycompat.Profile, addr string) *redis.Client {
	rdb := redis.NewClient(proxycompat.Options(profile, addr))
	rdb.AddHook(proxycompat.Hook(profile))
	return rdb
}

// run plays both rounds, prints the figures, and returns the exit code.
func run(ctx context.Context, cfg config, stdout, stderr io.Writer) int {
	naive, unwatch, err := playBoth(ctx, cfg)
	if ctx.Err() != nil {
		_, _ = fmt.Fprintln(stderr, "flashsale: interrupted")
		return 130
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "flashsale:", err)
		return 1
	}
	return show(stdout, cfg, naive, unwatch)
}

func playBoth(ctx context.Context, cfg config) (naive, unwatch result, err error) {
	profile, err := openProfile(cfg.profile)
	if err != nil {
		return naive, unwatch, err
	}
	if cfg.proxy == "" {
		p, err := proxytest.Start(proxytest.Config{Profile: profile})
		if err != nil {
			return naive, unwatch, err
		}
		defer p.Close() //nolint:errcheck // the program ends
		cfg.proxy = p.Addr()
	}
	rdb := newClient(profile, cfg.proxy)
	defer rdb.Close() //nolint:errcheck // nothing depends on it
	if naive, err = play(ctx, cfg, rdb, naiveRound); err == nil {
		unwatch, err = play(ctx, cfg, rdb, unwatchRound)
	}
	return naive, unwatch, err
}

// show prints one column of figures per round, then the verdict.
func show(w io.Writer, cfg config, naive, unwatch result) int {
	line := func(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) } //nolint:errcheck // stdout
	line("Flash sale of %d items: %d orders, served by %d processes with %d workers each, behind %s\n",
		cfg.Stock, demand*cfg.Stock, cfg.Processes, cfg.Workers, cfg.profile)
	row := func(name string, of func(result) any) { line("%-44s %12v %12v", name, of(naive), of(unwatch)) }
	line("%-44s %12s %12s", "", "GET and SET", "lockupdate")
	for _, a := range []answer{sold, soldOut, boughtBefore} {
		row(fmt.Sprintf("orders told %q", a), func(r result) any { return r.answers[a] })
	}
	row("orders per second", func(r result) any { return int(float64(len(r.waits)) / r.took.Seconds()) })
	row("median wait, ms", func(r result) any { return r.waits[len(r.waits)/2].Milliseconds() })
	row("longest wait, ms", func(r result) any { return r.waits[len(r.waits)-1].Milliseconds() })
	var oversold, broken bool
	for i, what := range faults {
		row(what, func(r result) any { return r.audit[i] })
		oversold = oversold || naive.audit[i] != 0
		broken = broken || unwatch.audit[i] != 0
	}
	switch {
	case broken:
		line("\nlockupdate broke a promise.")
	case !oversold:
		line("\nGET and SET, the negative control, made no mistake: this run shows nothing. Raise -workers.")
	default:
		line("\nlockupdate sold %d items, each once. Every order told \"sold\" is stored once.", cfg.Stock)
		return 0
	}
	return 1
}
