package report

// Class is what a comparison came to.
type Class string

// The classes, in their order of precedence: the first that fits is the one.
const (
	// Nondeterministic: the operation, run twice on the same input, disagrees with itself.
	Nondeterministic Class = "nondeterministic"
	// ErrorClass: one path succeeded and the other refused, or refused otherwise. That a
	// store is down is not of this class, but of Health.
	ErrorClass Class = "error_class"
	// LostWrite: the candidate reports that it has stored a value, and the key still holds
	// the value from before, or none.
	LostWrite Class = "lost_write"
	// ValueDiffers: what is stored differs, decoded and normalised.
	ValueDiffers Class = "value"
	// TTLDiffers: the expiry differs by more than the tolerance, or one has none.
	TTLDiffers Class = "ttl"
	// LostUpdate: a commit was acknowledged, and is not in the chain: another one, or a
	// delete, has overwritten it.
	LostUpdate Class = "lost_update"
	// DoubleApply: a commit is in the chain twice.
	DoubleApply Class = "double_apply"
	// ForeignWrite: the candidate's store holds what nobody here has written.
	ForeignWrite Class = "foreign_write"
	// DriftGap: the call before this one was not mirrored, so this one could not follow.
	DriftGap Class = "drift_gap"
	// DriftInherited: the key had diverged before; it counts under the first cause.
	DriftInherited Class = "drift_inherited"
	// OrderOnly: the same operations, in another order.
	OrderOnly Class = "order_only"
	// EncodingOnly: the bytes differ, what they mean does not.
	EncodingOnly Class = "encoding_only"
	// MatchNoop: both wrote nothing, and agree.
	MatchNoop Class = "match_noop"
	// Match: both are the same.
	Match Class = "match"
)

// Classes returns all of them, in their order of precedence.
func Classes() []Class {
	return []Class{
		Nondeterministic, ErrorClass, LostWrite, ValueDiffers, TTLDiffers, LostUpdate, DoubleApply, ForeignWrite,
		DriftGap, DriftInherited, OrderOnly, EncodingOnly, MatchNoop, Match,
	}
}

// Blocks reports whether a single finding of that class stands in the way of a cut-over.
func (c Class) Blocks() bool {
	switch c {
	case Nondeterministic, ErrorClass, LostWrite, ValueDiffers, TTLDiffers, LostUpdate, DoubleApply, ForeignWrite:
		return true
	default:
		return false
	}
}

// Reason is why a call was not compared.
type Reason string

// The reasons.
const (
	DroppedQueue   Reason = "dropped_queue"   // too many calls waited
	DroppedBytes   Reason = "dropped_bytes"   // they held too many bytes
	DroppedBreaker Reason = "dropped_breaker" // the candidate's breaker was open
	DroppedRate    Reason = "dropped_rate"    // more than the rate limit allows
	DroppedMode    Reason = "dropped_mode"    // the shadow was switched off, or closed, meanwhile
	ShadowTimeout  Reason = "shadow_timeout"  // the candidate took too long
	// ShadowUnavailable: the candidate could not be reached, or could not serve.
	ShadowUnavailable Reason = "shadow_unavailable"
	// ShadowContended: the candidate gave up because other writers kept the key busy.
	ShadowContended Reason = "shadow_contended"
	// PrimaryFailed: the serving path failed, and wrote nothing.
	PrimaryFailed Reason = "primary_failed"
	// PrimaryIndeterminate: the serving path does not know whether it has written.
	PrimaryIndeterminate Reason = "primary_indeterminate"
	// Superseded: the key was copied anew before this call's turn came, with the call's
	// own change in the copy.
	Superseded Reason = "superseded"
	// ShadowPanic: the comparison itself panicked.
	ShadowPanic Reason = "shadow_panic"
	// NotApplicable: this Comparator has nothing to say of such a call.
	NotApplicable Reason = "not_applicable"
)

// Reasons returns all of them, in the order in which they are shown.
func Reasons() []Reason {
	return []Reason{
		DroppedQueue, DroppedBytes, DroppedBreaker, DroppedRate, DroppedMode, ShadowTimeout, ShadowUnavailable,
		ShadowContended, PrimaryFailed, PrimaryIndeterminate, Superseded, ShadowPanic, NotApplicable,
	}
}

// Drops reports whether such calls could have been compared, but for want of room, rate,
// time or a candidate that lives.
func (r Reason) Drops() bool {
	switch r {
	case DroppedQueue, DroppedBytes, DroppedBreaker, DroppedRate, DroppedMode, ShadowTimeout, ShadowUnavailable,
		ShadowContended:
		return true
	default:
		return false
	}
}

// Excused reports whether calls that are not compared for that reason say nothing
// against the coverage: there was nothing to compare.
func (r Reason) Excused() bool { return r == NotApplicable || r == PrimaryFailed }
