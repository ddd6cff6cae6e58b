package shadow

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"os"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow/internal/diff"
	"github.com/unwatch/unwatch/shadow/report"
)

// Config configures a [Store]. The zero Config works: it shadows all keys.
type Config struct {
	// Name is the report's title. Default "shadow".
	Name string
	// Process names this process in the report of a fleet. Each Store of a process needs a
	// name of its own. Default: host name, process id and four random letters.
	Process string
	// Build is the program's version in the report. Default: the VCS revision of the build
	// information, if there is one.
	Build string

	// Off starts with no key in the shadow; [Store.SetPercent] changes that.
	Off bool
	// Percent is the share of the keys in the shadow, selected by a hash of their names.
	// An update of several keys is in the shadow if any key that it names is. Default 100.
	Percent float64
	// Reads is the share of the reads of these keys to compare, in percent. All updates are
	// compared. Default 10; negative: none.
	Reads float64

	// Skip lists comparators to leave out.
	Skip []report.Comparator
	// AA marks a calibration: both paths are alike, so every difference is noise.
	AA bool
	// Calibration is the report of a calibration, which the verdict relies on.
	Calibration *report.Report

	// Domains configure the comparison of values, by Key.Label; "" is for all other labels.
	Domains map[string]Domain
	// Pure lists the operations that may run again in the shadow, as "domain/operation"
	// (Key.Label, and the name of [rmw.WithOperation]). A pure operation changes nothing but
	// its result, and takes time, ids and random numbers from [EnvOf] only.
	Pure []string
	// RedactKey returns the name that a report shows for a key. Default: a keyed hash.
	RedactKey func(key rmw.Key) string
	// RedactSecret is the key of the hashes that replace values and names. With the same
	// secret, the reports of several processes show the same hashes. Default: random.
	RedactSecret []byte
	// Policy has the limits of the verdict: of the page, and of Judge with a zero Policy.
	Policy report.Policy

	// QueueCalls and QueueBytes bound the calls in flight. Calls beyond that are dropped and
	// counted. Defaults 8,192 and 64 MB.
	QueueCalls int
	QueueBytes int64
	// Workers is the number of calls that each comparator works on at once. Default 8.
	Workers int
	// Timeout bounds each call of the hidden path. Default 2 s.
	Timeout time.Duration
	// Rate bounds the calls compared in a second, all comparators together. Default: no
	// bound.
	Rate int
	// CloseTimeout bounds [Store.Close]. Default 5 s.
	CloseTimeout time.Duration
}

// Domain configures the comparison of the values of one Key.Label. The zero Domain compares
// JSON documents by structure, and all other values byte by byte.
//
// A path joins fields with dots: "updatedAt", "members[].seen", "unread.*". "[]" is any
// element of an array, "*" any one name, "." the whole document. A name with other special
// characters is quoted, as a JSON string.
type Domain struct {
	// Ignore lists paths to leave out of the comparison: "updatedAt", "members[].seen".
	Ignore []string
	// Sets lists arrays to compare without regard to order.
	Sets []string
	// Show lists paths of values that the report may show. All others are redacted.
	Show []string
	// Keys lists names of fields that are data: "unread.*", if unread maps users to counts.
	// A finding shows them as "*", as it does with names that look like data.
	Keys []string
	// Project converts a value of either side into the form that is compared, where both
	// sides store it differently. It must be pure.
	Project func(v rmw.Value) (rmw.Value, error)
	// TTLTolerance is the difference of expiries that counts as equal. Default 2 s.
	TTLTolerance time.Duration
}

func (d Domain) rules() diff.Rules {
	return diff.Rules{Ignore: d.Ignore, Sets: d.Sets, Show: d.Show, Keys: d.Keys}
}

func (c Config) withDefaults() Config {
	c.Name = cmp.Or(c.Name, "shadow")
	c.Process = cmp.Or(c.Process, processName())
	c.Build = cmp.Or(c.Build, buildName())
	c.Percent = cmp.Or(c.Percent, 100)
	c.Reads = cmp.Or(c.Reads, 10)
	c.QueueCalls = cmp.Or(c.QueueCalls, 8192)
	c.QueueBytes = cmp.Or(c.QueueBytes, 64<<20)
	c.Workers = cmp.Or(c.Workers, 8)
	c.Timeout = cmp.Or(c.Timeout, 2*time.Second)
	c.CloseTimeout = cmp.Or(c.CloseTimeout, 5*time.Second)
	return c
}

// Validate returns an [rmw.ErrInvalid] that names the first field with an invalid value. A
// Store with an invalid Config serves, compares nothing, and its report shows that error.
func (c Config) Validate() error {
	for field, value := range reflect.ValueOf(c).Fields() {
		if value.CanInt() && value.Int() < 0 { // a count or a duration
			return fmt.Errorf("%w: shadow.Config.%s is negative; use a positive one, or 0 for the default", rmw.ErrInvalid, field.Name)
		}
	}
	switch {
	case !(c.Percent >= 0 && c.Percent <= 100):
		return fmt.Errorf("%w: shadow.Config.Percent is %v; use 0 (for 100) to 100, or Off", rmw.ErrInvalid, c.Percent)
	case !(c.Reads <= 100):
		return fmt.Errorf("%w: shadow.Config.Reads is %v; use at most 100", rmw.ErrInvalid, c.Reads)
	case strings.ContainsAny(c.Process, " \t\r\n"):
		return fmt.Errorf("%w: shadow.Config.Process is %q; use a name without spaces", rmw.ErrInvalid, c.Process)
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
			return fmt.Errorf("%w: shadow.Config.Domains[%q].TTLTolerance is negative; use a positive one, or 0 for 2s", rmw.ErrInvalid, label)
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

// processName returns a name that no other Store has.
func processName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "host"
	}
	return fmt.Sprintf("%.40s:%d:%s", strings.ReplaceAll(host, " ", "-"), os.Getpid(), strings.ToLower(rand.Text()[:4]))
}

// buildName returns the VCS revision of the build, "" if there is none.
func buildName() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	revision, modified := "", ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value[:min(len(s.Value), 12)]
		case "vcs.modified":
			if s.Value == "true" {
				modified = "+"
			}
		}
	}
	return revision + modified
}
