package shadow

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow/internal/diff"
	"github.com/unwatch/unwatch/shadow/report"
)

// Side is one of the two paths.
type Side uint8

const (
	// Legacy is the path that the service comes from.
	Legacy Side = iota
	// Candidate is the path that it goes to.
	Candidate
)

// String returns the side's name.
func (s Side) String() string {
	if s == Candidate {
		return "candidate"
	}
	return "legacy"
}

// Config tunes a [Store]. The zero Config works: it shadows all keys.
type Config struct {
	// Name is what is shadowed, in the report. Default "shadow".
	Name string
	// Process names this process in the report of a fleet; if it has several Stores, each
	// needs another name. Default: host name, pid and some letters.
	Process string
	// Build is the version of the program, in the report. Default: the VCS revision that
	// it was built from, if it knows.
	Build string

	// Serve is the side that answers, for as long as the Store lives; the other one is in
	// its shadow. Candidate is the reverse shadow, of after the cut-over: it keeps the
	// legacy store ready to go back. To move the authority takes more than this switch:
	// every process has to move at once.
	Serve Side
	// Off starts with no key in the shadow; [Store.SetPercent] changes that.
	Off bool
	// Percent is how many of the keys are in the shadow, chosen by a hash of their names.
	// Default 100.
	Percent float64
	// Reads is how many reads of these keys are compared, in percent. Updates always are.
	// Default 10; negative: none.
	Reads float64

	// Sole promises that no other process mirrors into the same store. Then what the
	// lockstep comparator finds there and has not written itself is a finding; otherwise
	// another process may have been quicker, and only the verifier can tell.
	Sole bool
	// Skip lists comparators that are not wanted. In reverse, only lockstep is used.
	Skip []report.Comparator
	// AA marks a calibration: both stores are made alike, and what differs is noise.
	AA bool
	// Calibration is the report of such a run, which the verdict relies on.
	Calibration *report.Report

	// Domains say, by Key.Label, how values are compared; "" is for all others.
	Domains map[string]Domain
	// Pure lists the operations that may be run again in the shadow, as "domain/operation"
	// (Key.Label, and the name of [rmw.WithOperation]): they change nothing but what they
	// return, and take time, ids and chance from [EnvOf] only.
	Pure []string
	// RedactKey is what a report shows for a key's name. Default: a keyed hash.
	RedactKey func(key rmw.Key) string
	// RedactSecret keys the hashes that stand for values and names. With the same secret,
	// reports of several processes show the same tokens. Default: random.
	RedactSecret []byte
	// Policy is what the verdict asks for.
	Policy report.Policy

	// QueueCalls and QueueBytes bound the calls that wait to be compared. Defaults 8,192
	// and 64 MB.
	QueueCalls int
	QueueBytes int64
	// Workers is how many calls each comparator works on at once. Default 8.
	Workers int
	// Timeout bounds each call of the path in the shadow. Default 2 s.
	Timeout time.Duration
	// Rate bounds the calls compared in a second, of all comparators. Default: unbounded.
	Rate int
	// LockstepWait is how long a call waits for the one before it, which may be in another
	// process's queue, until the key is copied anew. Default 2 s.
	LockstepWait time.Duration
	// Keys bounds how many keys are remembered for the verifier. Default 100,000.
	Keys int
	// CloseTimeout bounds Close. Default 5 s.
	CloseTimeout time.Duration
}

// Domain says how the values of one domain are compared. The zero Domain compares JSON
// documents by what they mean, and anything else by its bytes.
type Domain struct {
	// Ignore lists paths that do not count: "updatedAt", "members[].seen".
	Ignore []string
	// Sets lists arrays in which order does not count.
	Sets []string
	// Show lists paths whose values the report may show. All others are redacted.
	Show []string
	// Keys lists names that are somebody's, and not a field's: "unread.*", where that maps
	// users to something. A finding calls them "*". Names that look like data are called so
	// anyway.
	Keys []string
	// Project translates a value, of either side, into the form that is compared, where
	// the two sides store it differently. It must be pure.
	Project func(v rmw.Value) (rmw.Value, error)
	// TTLTolerance is how far expiries may be apart. Default 2 s.
	TTLTolerance time.Duration
}

func (d Domain) rules() diff.Rules {
	return diff.Rules{Ignore: d.Ignore, Sets: d.Sets, Show: d.Show, Keys: d.Keys}
}

// scratch lifetimes.
const (
	seedTTL = time.Minute
	freeTTL = 10 * time.Minute
)

func (c Config) withDefaults() Config {
	setDefault(&c.Name, "shadow")
	setDefault(&c.Process, processName())
	setDefault(&c.Build, buildName())
	setDefault(&c.Percent, 100)
	setDefault(&c.Reads, 10)
	setDefault(&c.QueueCalls, 8192)
	setDefault(&c.QueueBytes, 64<<20)
	setDefault(&c.Workers, 8)
	setDefault(&c.Timeout, 2*time.Second)
	setDefault(&c.LockstepWait, 2*time.Second)
	setDefault(&c.Keys, 100_000)
	setDefault(&c.CloseTimeout, 5*time.Second)
	return c
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Validate reports, as an [rmw.ErrInvalid], what cannot work. A Store made with such a
// Config serves all the same, compares nothing, and its report says why.
func (c Config) Validate() error {
	for _, n := range []struct {
		name  string
		value float64
	}{
		{"QueueCalls", float64(c.QueueCalls)},
		{"QueueBytes", float64(c.QueueBytes)},
		{"Workers", float64(c.Workers)},
		{"Timeout", float64(c.Timeout)},
		{"Rate", float64(c.Rate)},
		{"LockstepWait", float64(c.LockstepWait)},
		{"Keys", float64(c.Keys)},
		{"CloseTimeout", float64(c.CloseTimeout)},
	} {
		if n.value < 0 {
			return fmt.Errorf("%w: shadow.Config.%s is negative; use a positive one, or 0 for the default", rmw.ErrInvalid, n.name)
		}
	}
	switch {
	case !(c.Percent >= 0 && c.Percent <= 100):
		return fmt.Errorf("%w: shadow.Config.Percent is %v; use 0 (for 100) to 100, or Off", rmw.ErrInvalid, c.Percent)
	case !(c.Reads <= 100):
		return fmt.Errorf("%w: shadow.Config.Reads is %v; use at most 100", rmw.ErrInvalid, c.Reads)
	case strings.ContainsAny(c.Process, " \t\r\n"):
		return fmt.Errorf("%w: shadow.Config.Process is %q; use a name without spaces", rmw.ErrInvalid, c.Process)
	case c.Serve > Candidate:
		return fmt.Errorf("%w: shadow.Config.Serve is %d; use Legacy or Candidate", rmw.ErrInvalid, c.Serve)
	}
	for _, skipped := range c.Skip {
		if !slices.Contains(report.Comparators(), skipped) {
			return fmt.Errorf("%w: shadow.Config.Skip lists %q; use %q", rmw.ErrInvalid, skipped, report.Comparators())
		}
	}
	for label, d := range c.Domains {
		if _, err := diff.Compile(d.rules()); err != nil {
			return fmt.Errorf("%w: shadow.Config.Domains[%q]: %w", rmw.ErrInvalid, label, err)
		}
		if d.TTLTolerance < 0 {
			return fmt.Errorf("%w: shadow.Config.Domains[%q].TTLTolerance is negative", rmw.ErrInvalid, label)
		}
	}
	if c.Calibration != nil {
		if _, err := c.Calibration.AsCalibration(); err != nil {
			return fmt.Errorf("%w: shadow.Config.Calibration: %w", rmw.ErrInvalid, err)
		}
	}
	if err := c.Policy.Validate(); err != nil {
		return fmt.Errorf("%w: shadow.Config.Policy: %w", rmw.ErrInvalid, err)
	}
	return nil
}
