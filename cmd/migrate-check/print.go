package main

import (
	"flag"
	"fmt"
	"strings"

	"github.com/unwatch/unwatch/internal/probe"
	"github.com/unwatch/unwatch/internal/wrap"
	"github.com/unwatch/unwatch/proxycompat"
)

// wrapped wraps a paragraph to the columns of a report.
func wrapped(text string) string { return wrap.Paragraph(probe.Width, "", "  ", text) }

// newFlags returns the flag set of a check or a subcommand. Its help stands between two texts.
func newFlags(name, usage, more string) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.Usage = func() {
		say(flags.Output(), "%s", usage)
		flagTable(flags)
		if flags.Lookup("profile") != nil {
			say(flags.Output(), "\n%s", wrapped("Profiles: "+strings.Join(proxycompat.Names(), ", ")))
		}
		say(flags.Output(), "%s", more)
	}
	return flags
}

// flagTable prints the flags, one paragraph each. flag.PrintDefaults does not wrap lines.
func flagTable(flags *flag.FlagSet) {
	const column = 22
	say(flags.Output(), "Flags:\n")
	flags.VisitAll(func(f *flag.Flag) {
		name, about := flag.UnquoteUsage(f)
		if f.DefValue != "" && f.DefValue != "false" {
			about += fmt.Sprintf(" (default %s)", f.DefValue)
		}
		head := fmt.Sprintf("  %-*s ", column-3, "-"+f.Name+" "+name)
		say(flags.Output(), "%s", wrap.Paragraph(probe.Width, head, strings.Repeat(" ", column), about))
	})
}
