package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/unwatch/unwatch/cmd/migrate-check/analysis/redistx"
	"github.com/unwatch/unwatch/cmd/migrate-check/finding"
	"github.com/unwatch/unwatch/cmd/migrate-check/fixer"
)

// fixes writes the fixes of -fix, and takes what they cure out of the report; for -diff it
// only prints what they would change.
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
	report.Findings = slices.DeleteFunc(report.Findings, func(f finding.Finding) bool {
		return f.Fix != nil && slices.ContainsFunc(done.Applied, func(a finding.Fix) bool {
			return a.Message == f.Fix.Message && slices.Equal(a.Edits, f.Fix.Edits)
		})
	})
	say(stderr, "%s", wrapped(fmt.Sprintf("migrate-check: fixed %d of %s that can be, in %s",
		len(done.Applied), counted(len(done.Applied)+len(done.Dropped), "finding"), counted(len(done.Files), "file"))))
	report.Count()
	return nil
}

// setStore says where rewritten code finds its store.
func (c *checkFlags) setStore() error {
	if c.store == "" {
		return nil
	}
	if err := redistx.Analyzer.Flags.Set("store", c.store); err != nil {
		return fmt.Errorf("-store: %w", err)
	}
	return nil
}
