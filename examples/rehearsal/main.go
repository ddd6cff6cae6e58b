// Rehearsal plays a whole migration in one command. It runs a chat service on WATCH, the proxy
// that refuses it, and the same service on lockupdate. It stalls processes with and without the
// guard. A shadow compares both paths and finds planted bugs. The data moves to the proxy, key by
// key. It needs no server and no flags:
//
//	go run ./examples/rehearsal
//
// With -legacy and -proxy it uses real servers. All keys, including those of the shadow, have a
// random prefix, and are deleted at the end. They expire, except the seals of act C and the markers of act F.
// It writes no files.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/redis/go-redis/v9/logging"

	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/profilefile"
	"github.com/unwatch/unwatch/rmw"
)

func main() { os.Exit(mainCode(os.Args[1:])) }

func mainCode(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	cfg, code, ok := parseFlags(args, os.Stderr)
	if !ok {
		return code
	}
	// go-redis logs connections on which a proxy refused a command. The errors are shown
	// anyway.
	logging.Disable()
	if cfg.proxy == "" {
		// The in-process engine allocates a Lua interpreter per script. Collect them less
		// often.
		debug.SetGCPercent(400)
	}
	return play(ctx, cfg, os.Stdout, os.Stderr)
}

// Exit codes.
const (
	exitOK          = 0
	exitBroken      = 1 // a promise was broken, or a server is unreachable
	exitUsage       = 2
	exitInterrupted = 130 // the exit code of shells after Ctrl-C
)

// config has the values of the flags.
type config struct {
	legacy, proxy string // both or none; none: everything runs in this process
	profile       *proxycompat.Profile
	events        int

	// For tests:
	acts     string // the letters of the acts to play
	prefix   string // of all keys; "": random
	sample   int    // number of events in acts D and E, and a third of those in act F
	harmless bool   // plant no bugs in act E

	newStore func(rmw.Store) rmw.Store // replaces the new store of act F; nil: the store itself
}

// usage is a wrong command line.
type usage struct{ error }

// parseFlags returns the config, or the exit code.
func parseFlags(args []string, stderr io.Writer) (cfg config, code int, ok bool) {
	fs := flag.NewFlagSet("rehearsal", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() {
		printf(stderr, "Play the migration from WATCH to lock-guarded updates, from end to end.\n")
		printf(stderr, "Without -legacy and -proxy everything runs in this process.\n\n")
		fs.PrintDefaults()
	}
	var profile string
	fs.StringVar(&cfg.legacy, "legacy", "", "`URL` of a plain Redis for the service as it is: redis://HOST:PORT")
	fs.StringVar(&cfg.proxy, "proxy", "", "`HOST:PORT` of a proxy for the service as it shall be")
	fs.StringVar(&profile, "profile", "codis", "what the proxy is: the `NAME` of a profile of proxycompat,\n"+
		"as predixy or codis@3.2, or a profile file (.yaml, .yml, .json)")
	fs.IntVar(&cfg.events, "events", 0, fmt.Sprintf("how many `EVENTS` to play, %d at most (default 2000, or all on real servers)", maxEvents))
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return cfg, exitOK, false
		}
		return cfg, exitUsage, false // Parse has printed the reason
	}
	if err := cfg.complete(profile, fs.Args()); err != nil {
		printf(stderr, "rehearsal: %v\n", err)
		return cfg, exitUsage, false
	}
	return cfg, exitOK, true
}

// complete checks the combination of flags.
func (c *config) complete(profile string, rest []string) (err error) {
	if c.acts, c.sample = "ABCDEF", 300; c.events == 0 {
		c.events = 2000
		if c.proxy != "" {
			c.events = maxEvents
		}
	}
	host, port, bad := net.SplitHostPort(c.proxy)
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected %q; all settings are flags, see -help", rest[0])
	case (c.legacy == "") != (c.proxy == ""):
		return errors.New("-legacy and -proxy belong together: give both, or none to run in this process")
	case c.proxy != "" && (bad != nil || host == "" || port == ""):
		return fmt.Errorf("-proxy is %q; use HOST:PORT", c.proxy)
	case c.events < 500 || c.events > maxEvents:
		return fmt.Errorf("-events is %d; use 500 to %d", c.events, maxEvents)
	}
	if c.profile, err = profilefile.Open(profile); err != nil {
		return err
	}
	rule := c.profile.Rule("EVALSHA")
	switch {
	case c.profile.Server():
		return fmt.Errorf("-profile %s is a server without a proxy; use a proxy, such as codis", profile)
	case rule.Verdict == proxycompat.Refused || rule.Verdict == proxycompat.Closes:
		return fmt.Errorf("-profile %s: the updates here are scripts, and EVALSHA is refused: %s; a service finds another "+
			"Config.Commit with lockupdate.Probe", profile, rule.Why)
	}
	return nil
}
