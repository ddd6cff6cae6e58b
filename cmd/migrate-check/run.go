package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/unwatch/unwatch/internal/wrap"
)

// The exit codes of all subcommands.
const (
	codeOK      = 0 // the answer is as expected
	codeDiffers = 1 // the answer differs
	codeError   = 2 // no answer, or wrong usage
)

// subcommand is a subcommand of this program.
type subcommand struct {
	name  string
	about string // one line
	run   func(ctx context.Context, args []string, stdout, stderr io.Writer) int
}

func subcommands() []subcommand {
	return []subcommand{
		{"live", "count what running servers get that a proxy would refuse", runLive},
		{"probe", "ask a live address what it permits, and which known proxy it is like", runProbe},
		{"explain", "say why a rule is one, and what to do; without one list them all", runExplain},
		{"shadow", "judge saved reports of the shadow: ready, not ready, not enough data", runShadow},
		{"cutover", "show and change the stage of a cut-over between two stores", runCutover},
	}
}

// graceful is how long a subcommand may go on after a signal, to print what it knows and to finish what it has begun.
const graceful = 800 * time.Millisecond

// runUntil is run that returns soon after the end of ctx, also if a server has accepted a connection and never answers.
// A move of a key that is left half done is completed by the next process that uses the key.
func runUntil(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	code := make(chan int, 1)
	go func() { code <- run(ctx, args, stdout, stderr) }()
	select {
	case code := <-code:
		return code
	case <-ctx.Done():
	}
	t := time.NewTimer(graceful)
	defer t.Stop()
	select {
	case code := <-code:
		return code
	case <-t.C:
		say(stderr, "migrate-check: stopped by a signal, while a server did not answer\n")
		return codeError
	}
}

// run runs the subcommand of the arguments and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	stdout, stderr = withoutSecrets(stdout, args), withoutSecrets(stderr, args)
	if len(args) == 0 {
		usage(stderr)
		return codeError
	}
	switch args[0] {
	case "-h", "-help", "--help", "help":
		usage(stdout)
		return codeOK
	}
	for _, s := range subcommands() {
		if s.name == args[0] {
			return s.run(ctx, args[1:], stdout, stderr)
		}
	}
	if isPackages(args[0]) {
		return runCheck(ctx, args, stdout, stderr)
	}
	say(stderr, "%s\n", wrapped(fmt.Sprintf("migrate-check: there is no subcommand %q", wrap.WithoutSecrets(args[0]))))
	usage(stderr)
	return codeError
}

func usage(w io.Writer) {
	say(w, "migrate-check says what to change before a Redis proxy comes in between.\n\n")
	say(w, "Usage: migrate-check PACKAGES, or migrate-check SUBCOMMAND ...\n\n")
	say(w, "migrate-check ./... finds what a proxy refuses in Go code; -help after\nthe packages says more.\n\nSubcommands:\n")
	for _, s := range subcommands() {
		say(w, "  %-8s %s\n", s.name, s.about)
	}
	say(w, "\nmigrate-check SUBCOMMAND -h says more.\n")
	say(w, "Exit codes of the subcommands: 0 all is as it should be, 1 something is not,\n2 could not find out; live has those of a check.\n")
}

// parse is parseAll for one argument.
func parse(flags *flag.FlagSet, args []string, stdout, stderr io.Writer, argument string) (value string, code int, ok bool) {
	words, code, ok := parseAll(flags, args, stdout, stderr, argument)
	if !ok {
		return "", code, false
	}
	if len(words) > 1 {
		for i, word := range words {
			words[i] = wrap.WithoutSecrets(word)
		}
		text := fmt.Sprintf("one %s is enough, these are too many: %s", argument, strings.Join(words[1:], " "))
		return "", complain(stderr, flags.Name(), text), false
	}
	return words[0], codeOK, true
}

// parseAll reads flags before, after and among arguments, and returns the arguments: at least one. If ok is false, the
// program exits with the code.
func parseAll(flags *flag.FlagSet, args []string, stdout, stderr io.Writer, argument string) (words []string, code int, ok bool) {
	flags.SetOutput(io.Discard) // complain prints the error
	for {
		err := flags.Parse(args)
		switch {
		case errors.Is(err, flag.ErrHelp):
			flags.SetOutput(stdout)
			flags.Usage()
			return nil, codeOK, false
		case err != nil:
			return nil, complain(stderr, flags.Name(), err.Error()), false
		}
		if flags.NArg() == 0 {
			break
		}
		words = append(words, flags.Arg(0))
		args = flags.Args()[1:]
	}
	if len(words) == 0 {
		return nil, complain(stderr, flags.Name(), argument+" is missing"), false
	}
	return words, codeOK, true
}

// complain prints the error of the arguments, and a hint where to read more. A file can have
// several mistakes, one per line.
func complain(stderr io.Writer, name, what string) int {
	command, help := name, name
	if name == checkName { // a check has packages instead of a name
		command, help = "", "./..."
	}
	fail(stderr, command, codeError, errors.New(what))
	say(stderr, "migrate-check %s -h says how to use it.\n", help)
	return codeError
}

// fail prints an error, which may have several lines, and returns the exit code. command is a subcommand, or "" for a check.
func fail(stderr io.Writer, command string, code int, err error) int {
	text := err.Error()
	if d, ok := stderr.(discreet); ok {
		text = d.redact(text) // before long words are cut
	}
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		say(stderr, "%s", wrapped(strings.TrimSpace("migrate-check "+command)+": "+line))
	}
	return code
}

// say prints, and ignores an error of the output.
func say(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }
