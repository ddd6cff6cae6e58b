package main

import (
	"flag"
	"fmt"
	"strings"

	"github.com/unwatch/unwatch/internal/wrap"
	"github.com/unwatch/unwatch/proxycompat/probe"
)

// wrapped is a paragraph of at most as many columns as a report has.
func wrapped(text string) string { return wrap.Paragraph(probe.Width, "", "  ", text) }

// flagTable prints the flags, one paragraph each: flag.PrintDefaults has lines of any
// length.
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

// withoutSecrets is the HOST:PORT of a URL, or of USER:PASSWORD@HOST:PORT; any other word
// stays as it is.
func withoutSecrets(word string) string {
	_, rest, isURL := strings.Cut(word, "://")
	if !isURL {
		rest = word
	}
	if at := strings.LastIndex(rest, "@"); at >= 0 { // first: a password may have any sign in it
		rest, isURL = rest[at+1:], true
	}
	if end := strings.IndexAny(rest, "/?#"); isURL && end >= 0 {
		rest = rest[:end]
	}
	return rest
}
