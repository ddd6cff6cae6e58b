package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/unwatch/unwatch/shadow/report"
)

const shadowUsage = `Usage: migrate-check shadow FILE... [flags]

Adds up the reports of a service's processes, as their pages save them with
?format=json, and says whether the service is ready to change its path. It takes
the latest report of each process, or what was merged of them, and no process
twice.

`

const shadowMore = `
Exit codes: 0 ready; 1 not ready; 2 not enough data, or a file that cannot be
read, or wrong usage.

Examples:
  migrate-check shadow desk-*.json
  migrate-check shadow desk-*.json -calibration aa.json -format html >page.html
`

// shadowFlags are the flags of the subcommand shadow.
type shadowFlags struct {
	policy      string
	calibration string
	format      string
}

func (f *shadowFlags) register(flags *flag.FlagSet) {
	flags.StringVar(&f.policy, "policy", "", "read the verdict's limits from JSON `FILE`, see report.Policy (default that of the latest report)")
	flags.StringVar(&f.calibration, "calibration", "", "the report of the A/A run is in this JSON `FILE`")
	flags.StringVar(&f.format, "format", "text", "write text, json or html")
}

// runShadow judges saved reports. It needs no ctx, because it only reads files.
func runShadow(_ context.Context, args []string, stdout, stderr io.Writer) int {
	flags := newFlags("shadow", shadowUsage, shadowMore)
	var f shadowFlags
	f.register(flags)
	files, code, ok := parseAll(flags, args, stdout, stderr, "FILE")
	if !ok {
		return code
	}
	write, known := map[string]func(*report.Report, io.Writer, report.Policy) error{
		"text": (*report.Report).WriteText,
		"json": (*report.Report).WriteJSON,
		"html": (*report.Report).WriteHTML,
	}[f.format]
	if !known {
		return complain(stderr, "shadow", fmt.Sprintf("-format is text, json or html, not %q", f.format))
	}
	r, policy, err := f.read(files)
	if err != nil {
		return fail(stderr, "shadow", codeError, err)
	}
	if err := write(r, stdout, policy); err != nil {
		return fail(stderr, "shadow", codeError, err)
	}
	return r.Judge(policy).State.ExitCode()
}

// read reads all files.
func (f *shadowFlags) read(files []string) (*report.Report, report.Policy, error) {
	var policy report.Policy
	if f.policy != "" {
		text, err := os.ReadFile(f.policy)
		if err == nil {
			err = json.Unmarshal(text, &policy)
		}
		if err == nil {
			err = policy.Validate()
		}
		if err != nil {
			return nil, policy, fmt.Errorf("-policy %s: %w", f.policy, err)
		}
	}
	var reports []*report.Report
	in := map[string]string{} // the file, by process
	for _, file := range files {
		r, err := readReport(file)
		if err != nil {
			return nil, policy, err
		}
		for _, p := range r.Processes {
			if other, twice := in[p.Name]; twice {
				return nil, policy, fmt.Errorf("%s and %s: the process %s is in both, and would count twice: pass the later one only", other, file, p.Name)
			}
			in[p.Name] = file
		}
		reports = append(reports, r)
	}
	r, err := report.Merge(reports...)
	if err != nil || f.calibration == "" {
		return r, policy, err
	}
	aa, err := readReport(f.calibration)
	if err != nil {
		return nil, policy, fmt.Errorf("-calibration: %w", err)
	}
	if r.Calibration, err = aa.AsCalibration(); err != nil {
		return nil, policy, fmt.Errorf("-calibration %s: %w", f.calibration, err)
	}
	return r, policy, nil
}

func readReport(file string) (*report.Report, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	r, err := report.Read(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return r, nil
}
