package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"

	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/custom"
)

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
	reports       string // folder for the shadow reports; "": a new one; "-": none

	// For tests:
	acts     string // the letters of the acts to play; "": all
	prefix   string // of all keys; "": random
	sample   int    // number of events in acts D and E; 0: the default
	harmless bool   // plant no bugs in act E
}

// usage is a wrong command line.
type usage struct{ error }

func (u usage) Unwrap() error { return u.error }

// parseFlags returns the config, or the exit code.
func parseFlags(args []string, stderr io.Writer) (cfg config, code int, ok bool) {
	fs := flag.NewFlagSet("rehearsal", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() {
		say(stderr, "Play the migration from WATCH to lock-guarded updates, from end to end.\n")
		say(stderr, "Without -legacy and -proxy everything runs in this process.\n\n")
		fs.PrintDefaults()
	}
	var profile string
	fs.StringVar(&cfg.legacy, "legacy", "", "`URL` of a plain Redis for the service as it is: redis://HOST:PORT")
	fs.StringVar(&cfg.proxy, "proxy", "", "`HOST:PORT` of a proxy for the service as it shall be")
	fs.StringVar(&profile, "profile", "codis", "what the proxy is: the `NAME` of a profile of proxycompat,\n"+
		"as predixy or codis@3.2, or a profile file (.yaml, .yml, .json)")
	fs.IntVar(&cfg.events, "events", 0, fmt.Sprintf("how many `EVENTS` to play, %d at most (default 2000, or all on real servers)", dayEvents))
	fs.StringVar(&cfg.reports, "report", "", "`FOLDER` for the reports of the shadow, - for none; "+
		"without this flag, a new one\namong the temporary files of the system")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return cfg, exitOK, false
		}
		return cfg, exitUsage, false // Parse has printed the reason
	}
	if err := cfg.complete(profile, fs.Args()); err != nil {
		say(stderr, "rehearsal: %v\n", err)
		return cfg, exitUsage, false
	}
	return cfg, exitOK, true
}

// complete checks the combination of flags.
func (c *config) complete(profile string, rest []string) (err error) {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected %q; all settings are flags, see -help", rest[0])
	case (c.legacy == "") != (c.proxy == ""):
		return errors.New("-legacy and -proxy belong together: give both, or none to run in this process")
	case c.events != 0 && (c.events < 500 || c.events > dayEvents):
		return fmt.Errorf("-events is %d; use 500 to %d", c.events, dayEvents)
	case c.events == 0 && c.proxy != "":
		c.events = dayEvents
	case c.events == 0:
		c.events = 2000
	}
	if c.proxy != "" {
		if host, port, err := net.SplitHostPort(c.proxy); err != nil || host == "" || port == "" {
			return fmt.Errorf("-proxy is %q; use HOST:PORT", c.proxy)
		}
	}
	c.profile, err = profileOf(profile)
	return err
}

// profileOf returns a profile by name or from a file.
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

// say writes to stderr and ignores failures.
func say(w io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(w, format, args...)
}
