package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/custom"
)

// Exit codes.
const (
	exitOK          = 0
	exitBroken      = 1 // a promise was broken, the control showed nothing, or the proxy is not there
	exitUsage       = 2
	exitInterrupted = 130 // as shells report a program that Ctrl-C ended
)

// config is what the flags say.
type config struct {
	processes, workers, stock int

	proxy   string // "": one in this process
	named   string // as the profile was: each process looks it up
	profile *proxycompat.Profile
	seed    uint64
	rounds  []string
	timeout time.Duration // of a round

	prefix  string        // of all keys; "": a random one. For tests.
	started func(pid int) // is told of each process, or nil. For tests.
}

// parseFlags returns the config, or the exit code to leave with.
func parseFlags(args []string, stderr io.Writer) (cfg config, code int, ok bool) {
	fs := flag.NewFlagSet("flashsale", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() {
		say(stderr, "Sell the stock of one item from several processes at once, through a proxy.\n")
		say(stderr, "Without -proxy, the proxy and its server run in this process.\n\n")
		fs.PrintDefaults()
	}
	var profile, round string
	fs.IntVar(&cfg.processes, "processes", 3, "how many processes sell")
	fs.IntVar(&cfg.workers, "workers", 8, "how many orders each process serves at once")
	fs.IntVar(&cfg.stock, "stock", 400, "how many items there are; twice as many are ordered")
	fs.StringVar(&cfg.proxy, "proxy", "", "`HOST:PORT` of a real proxy, without a password")
	fs.StringVar(&profile, "profile", "codis", "what the proxy is: the `NAME` of a profile of proxycompat,\n"+
		"as predixy or codis@3.2, or a profile file (.yaml, .yml, .json)")
	fs.Uint64Var(&cfg.seed, "seed", 1, "decides who orders twice, and who thinks for how long")
	fs.StringVar(&round, "round", "both", "naive, unwatch or both")
	fs.DurationVar(&cfg.timeout, "timeout", time.Minute, "how long one round may take")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return cfg, exitOK, false
		}
		return cfg, exitUsage, false // Parse has said why
	}
	if err := cfg.complete(profile, round, fs.Args()); err != nil {
		say(stderr, "flashsale: %v\n", err)
		return cfg, exitUsage, false
	}
	return cfg, exitOK, true
}

// complete checks what the flags say together.
func (c *config) complete(profile, round string, rest []string) (err error) {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected %q; all settings are flags, see -help", rest[0])
	case c.processes < 1 || c.processes > 16:
		return fmt.Errorf("-processes is %d; use 1 to 16", c.processes)
	case c.workers < 1 || c.workers > 64:
		return fmt.Errorf("-workers is %d; use 1 to 64", c.workers)
	case c.processes*c.workers == 1:
		return errors.New("one worker in one process races with nobody; raise -processes or -workers")
	case c.stock < 10 || c.stock > 2000:
		return fmt.Errorf("-stock is %d; use 10 to 2000", c.stock)
	case c.timeout < time.Second:
		return fmt.Errorf("-timeout is %v; use 1s or more", c.timeout)
	}
	switch round {
	case "both":
		c.rounds = []string{naiveRound, unwatchRound}
	case naiveRound, unwatchRound:
		c.rounds = []string{round}
	default:
		return fmt.Errorf("-round is %q; use naive, unwatch or both", round)
	}
	if c.proxy != "" {
		if host, port, err := net.SplitHostPort(c.proxy); err != nil || host == "" || port == "" {
			return fmt.Errorf("-proxy is %q; use HOST:PORT", c.proxy)
		}
	}
	c.named = profile
	c.profile, err = profileOf(profile)
	return err
}

// profileOf returns the profile of a proxy by its name, or from a file.
func profileOf(name string) (*proxycompat.Profile, error) {
	profile, err := custom.Open(name)
	if err != nil {
		return nil, err
	}
	rule := profile.Rule("EVALSHA")
	switch {
	case profile.Server():
		return nil, fmt.Errorf("-profile %s is a server without a proxy; use a proxy, such as codis", name)
	case rule.Verdict == proxycompat.Refused || rule.Verdict == proxycompat.Closes:
		return nil, fmt.Errorf("-profile %s: the updates here are scripts, and EVALSHA is refused: %s; a service finds another "+
			"Config.Commit with lockupdate.Probe", name, rule.Why)
	}
	return profile, nil
}

// say writes to stderr. There is nobody to tell when that fails.
func say(w io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(w, format, args...)
}
