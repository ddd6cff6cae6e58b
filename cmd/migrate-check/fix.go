package main

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/unwatch/unwatch/cmd/migrate-check/finding"
	"github.com/unwatch/unwatch/cmd/migrate-check/fixer"
	"github.com/unwatch/unwatch/internal/wrap"
)

// fixes writes the fixes of -fix; for -diff it only prints what they would change.
func (c *checkFlags) fixes(ctx context.Context, report *finding.Report, stdout, stderr io.Writer) error {
	var all []finding.Fix
	for i := range report.Findings {
		if f := &report.Findings[i]; f.Fix != nil && (f.Suppressed == nil || f.Suppressed.By != "directive") {
			all = append(all, *f.Fix)
		}
	}
	options := fixer.Options{Root: report.Root}
	if len(c.tags) > 0 && c.tags[0] != "" {
		options.BuildFlags = []string{"-tags=" + c.tags[0]}
	}
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
		_, err := io.Copy(stdout, &diff)
		return err
	}
	say(stderr, "%s", wrapped(fmt.Sprintf("migrate-check: fixed %d of %s that can be, in %s",
		len(done.Applied), wrap.Counted(len(done.Applied)+len(done.Dropped), "finding"), wrap.Counted(len(done.Files), "file"))))
	return nil
}
