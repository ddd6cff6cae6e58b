package report

import (
	"slices"

	"github.com/unwatch/unwatch/shadow/internal/notcompared"
)

// Class is the result of a comparison.
type Class string

// The classes, in order of precedence: a comparison has the first that fits.
const (
	Nondeterministic Class = "nondeterministic" // the operation, run twice on the same input, returned different results
	ErrorClass       Class = "error_class"      // one path succeeded, the other refused, or refused otherwise; outages do not count
	LostWrite        Class = "lost_write"       // the candidate reports a write, and the key holds the value from before, or none
	ValueDiffers     Class = "value"            // the stored values differ, decoded and normalised
	TTLDiffers       Class = "ttl"              // the expiries differ by more than the tolerance, or one is missing
	LostUpdate       Class = "lost_update"      // an acknowledged commit is not in the chain: another write has replaced it
	DoubleApply      Class = "double_apply"     // a commit is in the chain twice
	EncodingOnly     Class = "encoding_only"    // different bytes with the same meaning
	MatchNoop        Class = "match_noop"       // neither path wrote, and both agree
	Match            Class = "match"            // both paths stored the same
)

type classInfo struct {
	class             Class
	blocks            bool
	text, means, todo string // todo: of a class that blocks
}

var classInfos = []classInfo{
	{Nondeterministic, true, "disagrees with itself", "the operation disagrees with itself on the same input",
		"run twice on one input, the operation differs: take the time, ids and chance from EnvOf, or remove it from Config.Pure"},
	{ErrorClass, true, "another outcome", "one path succeeded, the other refused, or refused otherwise",
		"one path refuses a call that the other carries out: compare their answers in the samples"},
	{LostWrite, true, "write lost", "the candidate reports a write that is not there",
		"the candidate reports a write that is not stored: find why it ignores the reply of its commit, " +
			"or what removes keys there (eviction, an expiry in the wrong unit)"},
	{ValueDiffers, true, "value differs", "the stored values differ",
		"compare both documents in the samples, and fix the codec or the operation, or list the path in Config.Domains"},
	{TTLDiffers, true, "expiry differs", "the expiry differs, or one has none",
		"find the write that sets no expiry, or another: it belongs into the same write as the value, and a write that keeps " +
			"the expiry must not start it anew"},
	{LostUpdate, true, "update lost", "an acknowledged commit is not in the chain",
		"an acknowledged update was overwritten: find the write or the delete that is not guarded by the whole value that was " +
			"read, or the lease that ends before fn does; if a write was lost too, begin there"},
	{DoubleApply, true, "applied twice", "a commit is in the chain twice",
		"a commit was applied twice: find what sends it again without asking whether it arrived"},
	{EncodingOnly, false, "encoding differs", "other bytes, the same meaning", ""},
	{MatchNoop, false, "both wrote nothing", "both wrote nothing, and agree", ""},
	{Match, false, "same", "both are the same", ""},
}

// rank is the place in the order of precedence; -1 for a class of a later version.
func (c Class) rank() int {
	return slices.IndexFunc(classInfos, func(i classInfo) bool { return i.class == c })
}

func (c Class) info() classInfo {
	if i := c.rank(); i >= 0 {
		return classInfos[i]
	}
	return classInfo{class: c, text: string(c), todo: "look at the samples"}
}

// Classes returns all classes, in order of precedence.
func Classes() (all []Class) {
	for _, i := range classInfos {
		all = append(all, i.class)
	}
	return all
}

// Blocks reports whether a single finding of that class forbids a cut-over.
func (c Class) Blocks() bool { return c.info().blocks }

// Reason says why a call was not compared: "dropped_queue", "dropped_bytes", "dropped_breaker",
// "dropped_rate", "dropped_mode", "shadow_timeout", "shadow_unavailable", "shadow_contended",
// "primary_failed", "primary_indeterminate", "shadow_panic" or "not_applicable". The page
// and the text of a Report explain each.
type Reason string

// reasonInfo describes a Reason. Its todo names the field of Config to change.
type reasonInfo struct {
	reason         Reason
	drops, excused bool
	means, todo    string
}

var reasonInfos = []reasonInfo{
	{notcompared.DroppedQueue, true, false, "too many calls waited", "raise Config.Workers or Config.QueueCalls, or lower Config.Percent"},
	{notcompared.DroppedBytes, true, false, "waiting calls held too many bytes",
		"raise Config.Workers or Config.QueueBytes, or lower Config.Percent"},
	{notcompared.DroppedBreaker, true, false, "the candidate's breaker was open", outOfReach},
	{notcompared.DroppedRate, true, false, "more than the rate limit allows", "raise Config.Rate, or lower Config.Percent"},
	{notcompared.DroppedMode, true, false, "the shadow was switched off, or closed",
		"the shadow was switched off meanwhile (Kill, Close, SetPercent): count anew"},
	{notcompared.ShadowTimeout, true, false, "the candidate took too long",
		"the candidate took too long: see its latencies and lock waits; raise Config.Timeout only if callers wait that long too"},
	{notcompared.ShadowUnavailable, true, false, "the candidate could not serve", outOfReach},
	{notcompared.ShadowContended, true, false, "the candidate gave up: other writers kept the key busy",
		"the candidate was contended: other writers kept the key busy until it gave up. Raise its lockupdate.Config.MaxWait or " +
			"MaxAttempts, see whether a lock outlives its holder (Config.Lease) or is shared by many keys (Config.LockName), " +
			"or split the hot key"},
	{notcompared.PrimaryFailed, false, true, "the serving path failed, and wrote nothing", findOut},
	{notcompared.PrimaryIndeterminate, false, false, "the serving path does not know whether it has written",
		"the serving path did not know whether it had written: look at its connections"},
	{notcompared.ShadowPanic, false, false, "the comparison panicked",
		"the comparison panicked: a Project of Config.Domains, or the candidate; see panics"},
	{notcompared.NotApplicable, false, true, "this comparator has nothing to say of it", findOut},
}

const (
	outOfReach = "the candidate's store was out of reach: see its errors; if it is overloaded, lower Config.Percent or Config.Rate"
	findOut    = "find out why they were not compared"
)

func (r Reason) info() reasonInfo {
	if i := slices.IndexFunc(reasonInfos, func(i reasonInfo) bool { return i.reason == r }); i >= 0 {
		return reasonInfos[i]
	}
	return reasonInfo{reason: r, todo: findOut}
}

func reasons() (all []Reason) {
	for _, i := range reasonInfos {
		all = append(all, i.reason)
	}
	return all
}

// Drops reports whether the call was comparable, and was dropped for lack of room, rate, time or
// a working candidate.
func (r Reason) Drops() bool { return r.info().drops }

// Excused reports whether such calls do not lower the coverage: nothing was comparable.
func (r Reason) Excused() bool { return r.info().excused }
