package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/unwatch/unwatch/internal/probe"
	"github.com/unwatch/unwatch/proxycompat/profilefile"

	"github.com/unwatch/unwatch/internal/wrap"
)

const probeUsage = `Usage: migrate-check probe HOST:PORT [flags]

Asks a live Redis, or a proxy in front of it, what it permits, and says which
known proxy it is most like, what differs, and what that means for a service.

It is safe to ask a proxy that is in use: it touches only keys of its own, under
a random prefix, which expire after a minute and are deleted at the end; and it
sends nothing that harms other clients, unless -risky says so.

`

const probeMore = `
The password is never an argument, where others could read it.

Exit codes: 0 asked, and nothing differs from -profile (or none was given);
1 something differs; 2 could not ask, not enough was answered, or wrong usage.

Examples:
  migrate-check probe codis-proxy:19000
  migrate-check probe codis-proxy:19000 -profile codis@3.2
  REDIS_PASSWORD=... migrate-check probe redis:6379 -password-env REDIS_PASSWORD
  migrate-check probe codis-proxy:19000 -o our-codis.yaml
  migrate-check probe codis-proxy:19000 -profile our-codis.yaml
`

// probeFlags are the flags of the subcommand probe.
type probeFlags struct {
	connectFlags
	profile string
	timeout time.Duration
	budget  time.Duration
	json    bool
	risky   bool
	prefix  string
	output  outputFile
}

func (f *probeFlags) register(flags *flag.FlagSet) {
	flags.StringVar(&f.profile, "profile", "", "compare with the profile `NAME`; codis@3.2 is codis over Redis 3.2, and ours.yaml a file, as -o writes it")
	f.connectFlags.register(flags)
	flags.DurationVar(&f.timeout, "timeout", 2*time.Second, "wait that long for each answer")
	flags.DurationVar(&f.budget, "budget", 30*time.Second, "end after that long")
	flags.BoolVar(&f.json, "json", false, "write the report as JSON")
	flags.BoolVar(&f.risky, "risky", false, "also ask questions that can harm other clients of the same proxy")
	flags.StringVar(&f.prefix, "prefix", "", "begin its keys with `TEXT`, where users may not use others (default random)")
	f.output.register(flags, "write a profile with the results to `FILE`, a new one that ends in .yaml or .yml")
}

func runProbe(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := newFlags("probe", probeUsage, probeMore)
	var f probeFlags
	f.register(flags)
	addr, code, ok := parse(flags, args, stdout, stderr, "HOST:PORT")
	if !ok {
		return code
	}
	if host := wrap.WithoutSecrets(addr); host != addr {
		return complain(stderr, "probe", fmt.Sprintf("HOST:PORT is wanted, and no URL, user or password: %s", host))
	}
	cfg, err := f.config(os.LookupEnv)
	if err != nil {
		return complain(stderr, "probe", err.Error())
	}
	if err := f.output.try(); err != nil {
		return complain(stderr, "probe", err.Error())
	}
	report, err := probe.Probe(ctx, addr, cfg)
	if err != nil {
		code := fail(stderr, "", codeError, err)
		say(stderr, "%s", f.hint(err))
		return code
	}
	if code := f.write(report, stdout, stderr); code != codeOK {
		return code
	}
	return f.verdict(report, stderr)
}

// verdict is the exit code for a report that was written.
func (f *probeFlags) verdict(report *probe.Report, stderr io.Writer) int {
	unsure := ""
	switch {
	case f.profile == "":
		return codeOK
	case len(report.Differences) > 0:
		return codeDiffers
	case report.WritesSkipped != "":
		unsure = "commands that write were not asked, for keys cannot be given an expiry: " + report.WritesSkipped
	case !report.AllCommands:
		unsure = "not all commands were asked; try a longer -budget"
	case len(report.Unanswered()) > 0:
		unsure = "not all commands were answered in time; try again, or a longer -timeout"
	default:
		return codeOK
	}
	say(stderr, "%s", wrapped("migrate-check: nothing differs, and that is not sure: "+unsure))
	return codeError
}

// write writes the report, and the profile if there is one to write.
func (f *probeFlags) write(report *probe.Report, stdout, stderr io.Writer) int {
	if f.json {
		if err := encode(stdout, report); err != nil {
			return fail(stderr, "", codeError, err)
		}
	} else {
		say(stdout, "%s", report.Text())
	}
	if !report.Enough {
		text := "migrate-check: not enough was answered: " + report.NotEnough()
		if f.output.name != "" {
			text += "; " + f.output.name + " was not written"
		}
		say(stderr, "%s", wrapped(text))
		return codeError
	}
	if f.output.name == "" {
		return codeOK
	}
	name, err := profileName(f.output.name)
	if err != nil {
		return fail(stderr, "", codeError, err)
	}
	data, err := profilefile.Marshal(name, report.BaseProfile(), report.Changes(name).Rules)
	if err != nil {
		return fail(stderr, "", codeError, err)
	}
	err = f.output.write(func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err != nil {
		return fail(stderr, "", codeError, err)
	}
	say(stderr, "%s", wrapped(fmt.Sprintf("migrate-check: wrote the profile %q to %s", name, f.output.name)))
	return codeOK
}

// hint names the flag for the advice of an error.
func (f *probeFlags) hint(err error) string {
	var failed *probe.ConnectError
	if !errors.As(err, &failed) {
		return ""
	}
	switch failed.Reason {
	case probe.WantsTLS:
		return "Try -tls.\n"
	case probe.HangsUp:
		if !f.usesTLS() {
			return "Try -tls.\n"
		}
	case probe.WantsPlain:
		return "Try without the flags that begin with -tls.\n"
	case probe.BadCertificate:
		return "Try -tls-ca FILE, or -tls-cert FILE and -tls-key FILE if it wants a certificate;\nto trust whatever answers, -tls-skip-verify.\n"
	case probe.WantsPassword, probe.BadPassword:
		return "The password comes from -password-env VAR or -password-file FILE.\n"
	case probe.LacksRight:
		return "If the user may touch certain keys only: -prefix TEXT, which those begin with.\n"
	case probe.NoAnswer, probe.Hangs:
		return "Try a longer -timeout, or -budget.\n"
	}
	return ""
}
