// Package baseline records findings, so that only new ones make a check fail.
//
// A fingerprint identifies a finding by its rule, its package, the function around it, its
// statement, and its number among equal ones. It has no line number, because lines shift.
package baseline

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/wholefile"
	"github.com/unwatch/unwatch/internal/wrap"
)

// version is that of the file format.
const version = 1

// Baseline is a list of recorded findings.
type Baseline struct {
	Version  int     `json:"version"`
	Findings []Entry `json:"findings"`
}

// Entry is a recorded finding. Only its fingerprint counts; the rest is for readers.
type Entry struct {
	Fingerprint string `json:"fingerprint"`
	Rule        string `json:"rule"`
	Path        string `json:"path"`
	Func        string `json:"func,omitempty"`
	Message     string `json:"message"`
}

// Fingerprint sets the fingerprints of sorted findings.
func Fingerprint(all []finding.Finding) {
	seen := map[string]int{}
	for i := range all {
		f := &all[i]
		where := cmp.Or(f.Package, f.Path)
		key := strings.Join([]string{f.Rule, where, f.Func, f.Statement}, "\x00")
		n := seen[key]
		seen[key]++
		sum := sha256.Sum256([]byte(key + "\x00" + strconv.Itoa(n)))
		f.Fingerprint = hex.EncodeToString(sum[:8])
	}
}

// Of records findings: those that count.
func Of(all []finding.Finding) *Baseline {
	b := &Baseline{Version: version, Findings: []Entry{}}
	for i := range all {
		f := &all[i]
		if f.Counts() || f.Suppressed != nil && f.Suppressed.By == byBaseline {
			b.Findings = append(b.Findings, Entry{f.Fingerprint, f.Rule, f.Path, f.Func, f.Message})
		}
	}
	slices.SortStableFunc(b.Findings, func(x, y Entry) int {
		return cmp.Or(cmp.Compare(x.Path, y.Path), cmp.Compare(x.Func, y.Func), cmp.Compare(x.Rule, y.Rule),
			cmp.Compare(x.Fingerprint, y.Fingerprint))
	})
	return b
}

// Read reads a baseline. If there is no such file, the error is fs.ErrNotExist.
func Read(file string) (*Baseline, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var b Baseline
	if err := json.Unmarshal(data, &b); err != nil {
		return nil, fmt.Errorf("%s is no baseline: %w", file, err)
	}
	if b.Version != version {
		return nil, fmt.Errorf("%s is a baseline of version %d, and this migrate-check reads version %d: record it anew", file, b.Version, version)
	}
	return &b, nil
}

// Write writes a baseline: all of it, or nothing.
func (b *Baseline) Write(file string) error {
	data, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return err
	}
	return wholefile.Write(file, mode(file), func(w io.Writer) error {
		_, err := io.WriteString(w, wrap.JSON(string(data))+"\n")
		return err
	})
}

// mode is that of an existing file, or the usual one.
func mode(file string) fs.FileMode {
	if info, err := os.Stat(file); err == nil {
		return info.Mode().Perm()
	}
	return 0o644
}

const byBaseline = "baseline"

// Apply suppresses recorded findings, and counts them.
func (b *Baseline) Apply(all []finding.Finding) *finding.Burndown {
	recorded := map[string]bool{}
	for _, e := range b.Findings {
		recorded[e.Fingerprint] = true
	}
	down := &finding.Burndown{Recorded: len(b.Findings)}
	found := map[string]bool{}
	for i := range all {
		f := &all[i]
		if !recorded[f.Fingerprint] {
			continue
		}
		found[f.Fingerprint] = true
		if f.Suppressed == nil {
			f.Suppressed = &finding.Suppression{By: byBaseline}
		}
	}
	for _, e := range b.Findings {
		if !found[e.Fingerprint] {
			down.Stale = append(down.Stale, e.Fingerprint)
		}
	}
	down.Left = down.Recorded - len(down.Stale)
	return down
}
