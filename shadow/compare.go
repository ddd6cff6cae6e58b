package shadow

import (
	"cmp"
	"time"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/driver"
	"github.com/unwatch/unwatch/shadow/internal/diff"
	"github.com/unwatch/unwatch/shadow/report"
)

// comparison compares the values of one domain.
type comparison struct {
	differ    *diff.Comparer
	project   func(v rmw.Value) (rmw.Value, error)
	tolerance time.Duration // between expiries
}

func newComparison(cfg Config, domain string) *comparison {
	d, ok := cfg.Domains[domain]
	if !ok {
		d = cfg.Domains[""]
	}
	d.TTLTolerance = cmp.Or(d.TTLTolerance, 2*time.Second)
	differ, err := diff.Compile(d.rules())
	if err != nil {
		panic("shadow: a Config that was validated: " + err.Error())
	}
	return &comparison{differ: differ, project: d.Project, tolerance: d.TTLTolerance}
}

// form returns the form of a value that is compared. A value that Project refuses is
// compared as it is.
func (c *comparison) form(v rmw.Value) rmw.Value {
	v = driver.Untraced(v)
	if c.project == nil || !v.Exists() {
		return v
	}
	if projected, err := c.project(v); err == nil {
		return projected
	}
	return v
}

func (c *comparison) compare(legacy, candidate rmw.Value) diff.Result {
	return c.differ.Compare(c.form(legacy), c.form(candidate))
}

// sameStored is same for values that the free run has made, which Domain.Project may not know.
func (c *comparison) sameStored(a, b rmw.Value) bool {
	return c.differ.Compare(driver.Untraced(a), driver.Untraced(b)).Same
}

func (c *comparison) same(a, b rmw.Value) bool { return c.compare(a, b).Same }

// judge compares two values; explain describes a difference.
func (c *comparison) judge(legacy, candidate rmw.Value, explain string) finding {
	r := c.compare(legacy, candidate)
	switch {
	case !r.Same:
		return finding{class: report.ValueDiffers, differences: r.Differences, more: r.More, explain: explain}
	case r.EncodingOnly:
		return finding{class: report.EncodingOnly, explain: "the bytes differ, the documents do not"}
	}
	return finding{class: report.Match}
}

// judge compares the values that a call left on both paths.
func (c *call) judge(legacy, candidate rmw.Value, explain string) finding {
	f := c.op.compare.judge(legacy, candidate, explain)
	switch {
	case f.class == report.ValueDiffers:
		f.legacy = c.outcome()
	case f.class == report.Match && !c.written:
		f.class = report.MatchNoop
	}
	return f
}

// near reports whether two expiries agree, with slack for the time between the two reads.
func (c *comparison) near(a, b, slack time.Duration) bool {
	if a == rmw.NoTTL || b == rmw.NoTTL {
		return a == b
	}
	return (a - b).Abs() <= c.tolerance+slack
}

// expiryFinding describes two expiries that differ.
func expiryFinding(legacy, candidate time.Duration, explain string) finding {
	return finding{
		class: report.TTLDiffers, explain: explain, legacyExpiry: expiryText(legacy), candidateExpiry: expiryText(candidate),
	}
}

func expiryText(left time.Duration) string {
	switch left {
	case rmw.NoTTL:
		return "none"
	case 0:
		return ""
	}
	return left.Round(time.Millisecond).String()
}

// lostWrite changes a difference into a lost write if the path reported that it had written
// want, and the key still holds old, or nothing. A codec that changes values also reports
// the changed value. A path that reads from a replica is right on the second read.
func (e *engine) lostWrite(f finding, c *comparison, key rmw.Key, res rmw.Result, old, want, got rmw.Value) finding {
	if f.class != report.ValueDiffers || !res.Written || !c.same(want, res.After) || got.Exists() && !c.same(old, got) {
		return f
	}
	again, err := e.hidden.read(key)
	switch {
	case err != nil:
	case c.same(want, again):
		f.explain = "a read after the update did not see it, a later one did: the path reads from a replica, or from a cache"
	case got.Exists():
		f.class, f.explain = report.LostWrite, "the update reports a write, and the key still holds the value from before"
	default:
		f.class, f.explain = report.LostWrite, "the update reports a write, and the key is absent"
	}
	return f
}
