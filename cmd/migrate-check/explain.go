package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/unwatch/unwatch/internal/probe"
	"github.com/unwatch/unwatch/internal/rules"
	"github.com/unwatch/unwatch/internal/wrap"
)

// runExplain prints the page of a rule, or the list of all.
func runExplain(_ context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && (args[0] == "-h" || args[0] == "-help" || args[0] == "--help") {
		say(stdout, "Usage: migrate-check explain [RULE...]\n\nSays why a rule is one, and what to do; without a rule it lists them all.\n")
		return codeOK
	}
	if len(args) == 0 {
		for _, r := range rules.All() {
			about := r.Summary
			if r.Off {
				about += " (only with -rules all)"
			}
			say(stdout, "%s", wrap.Paragraph(probe.Width, fmt.Sprintf("%s %-8s ", r.ID, r.Severity), strings.Repeat(" ", 15), about))
		}
		return codeOK
	}
	for i, id := range args {
		r, ok := rules.Of(id)
		if !ok {
			return complain(stderr, "explain", fmt.Sprintf("there is no rule %q; without one all are listed", wrap.WithoutSecrets(id)))
		}
		if i > 0 {
			say(stdout, "\n")
		}
		say(stdout, "%s", page(r.Page))
	}
	return codeOK
}

// page formats Markdown for a terminal, and keeps code as it is.
func page(text string) string {
	var out, para strings.Builder
	flush := func() {
		if para.Len() > 0 {
			out.WriteString(wrap.Paragraph(probe.Width, "", "", para.String()))
			para.Reset()
		}
	}
	code := false
	for line := range strings.Lines(text) {
		bare := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(bare, "```"):
			flush()
			code = !code
		case code:
			out.WriteString("    " + strings.TrimRight(strings.ReplaceAll(line, "\t", "  "), " \n") + "\n")
		case bare == "" || strings.HasPrefix(bare, "#") || strings.HasPrefix(bare, "|"):
			flush()
			out.WriteString(bare + "\n")
		case strings.HasPrefix(bare, "- "):
			flush()
			para.WriteString(bare + " ")
		default:
			para.WriteString(bare + " ")
		}
	}
	flush()
	return out.String()
}
