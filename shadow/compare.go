package shadow

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow/internal/diff"
	"github.com/unwatch/unwatch/shadow/report"
)

// comparison is how the values of one domain are compared.
type comparison struct {
	differ    *diff.Comparer
	project   func(v rmw.Value) (rmw.Value, error)
	tolerance time.Duration
	rules     string // names them: digests by other rules are other ones
}

func newComparison(cfg Config, domain string) *comparison {
	d, ok := cfg.Domains[domain]
	if !ok {
		d = cfg.Domains[""]
	}
	setDefault(&d.TTLTolerance, 2*time.Second)
	differ, err := diff.Compile(d.rules())
	if err != nil {
		panic("shadow: a Config that was validated: " + err.Error())
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "2 %q %q %t", d.Ignore, d.Sets, d.Project != nil))
	return &comparison{differ: differ, project: d.Project, tolerance: d.TTLTolerance, rules: hex.EncodeToString(sum[:4])}
}

// form is a value as it is compared: the bytes as they are if they cannot be projected.
func (c *comparison) form(v rmw.Value) rmw.Value {
	v = v.Untraced()
	if c.project == nil || !v.Exists() {
		return v
	}
	if projected, err := c.project(v); err == nil {
		return projected
	}
	return v
}

// digest is equal for values that are the same.
func (c *comparison) digest(v rmw.Value) digest { return c.differ.Digest(c.form(v)) }

type digest = [16]byte

// compare tells where what the candidate has differs from what legacy has.
func (c *comparison) compare(legacy, candidate rmw.Value) diff.Result {
	return c.differ.Compare(c.form(legacy), c.form(candidate))
}

// near reports whether two expiries are the same, as far as that can be told. slack is
// for what is known of the time between them.
func (c *comparison) near(a, b, slack time.Duration) bool {
	if a == rmw.NoTTL || b == rmw.NoTTL {
		return a == b
	}
	return (a - b).Abs() <= c.tolerance+slack
}

// lostWrite names a difference a lost write if the path has reported that it wrote want,
// and v, which was there then, is old, or no value. A codec that changes values reports
// the changed one; a read from a replica is right the second time.
func (e *engine) lostWrite(f finding, op *operation, key rmw.Key, res rmw.Result, old, want, v rmw.Value) finding {
	compare := op.compare.compare
	if f.class != report.ValueDiffers || !res.Written || !compare(want, res.After).Same || v.Exists() && !compare(old, v).Same {
		return f
	}
	again, err := e.read(key)
	switch {
	case err != nil:
		return f
	case compare(want, again).Same:
		f.explain = "a read after the update did not see it, a later one did: the path reads from a replica, or from a cache"
		return f
	}
	f.class, f.explain = report.LostWrite, "the update reports that it has written, and the key holds the value from before"
	if !v.Exists() {
		f.explain = "the update reports that it has written, and the key is not there"
	}
	return f
}

// expiryText is an expiry in a report.
func expiryText(left time.Duration) string {
	switch {
	case left == rmw.NoTTL:
		return "none"
	case left == 0:
		return ""
	}
	return left.Round(time.Millisecond).String()
}
