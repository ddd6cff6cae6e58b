package main

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/fixer"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/load"
	"github.com/unwatch/unwatch/internal/wrap"
)

// fixes writes the fixes of -fix; for -diff it only prints them as a diff.
func (c *checkFlags) fixes(ctx context.Context, report *finding.Report, stdout, stderr io.Writer) error {
	var all []finding.Fix
	for i := range report.Findings {
		if f := &report.Findings[i]; f.Fix != nil && (f.Suppressed == nil || f.Suppressed.By != "directive") {
			all = append(all, *f.Fix)
		}
	}
	options := fixer.Options{Root: report.Root, Builds: load.Builds(c.tags, c.systems)}
	var diff bytes.Buffer
	if c.diff {
		options.Diff = &diff
	}
	done, err := fixer.Apply(ctx, all, options)
	if err != nil {
		return fmt.Errorf("nothing was changed: %w", err)
	}
	for _, d := range done.Dropped {
		say(stderr, "%s", wrapped(fmt.Sprintf("migrate-check: not fixed: %s: %s", d.Fix.Message, d.Why)))
	}
	if c.diff {
		shown := wrap.Lines(diff.String())
		if shown != diff.String() {
			say(stderr, "%s", wrapped("migrate-check: the code has control characters, which the diff shows as ?: apply it by -fix"))
		}
		_, err := io.WriteString(stdout, shown)
		return err
	}
	say(stderr, "%s", wrapped(fmt.Sprintf("migrate-check: fixed %d of %s that can be, in %s",
		len(done.Applied), wrap.Counted(len(done.Applied)+len(done.Dropped), "finding"), wrap.Counted(len(done.Files), "file"))))
	return nil
}
