// Package notcompared names the reasons for which a call is not compared.
package notcompared

// The words of report.Reason, in the order of all tables.
const (
	DroppedQueue         = "dropped_queue"         // the queue was full
	DroppedBytes         = "dropped_bytes"         // the calls in the queue held too many bytes
	DroppedBreaker       = "dropped_breaker"       // the candidate's circuit breaker was open
	DroppedRate          = "dropped_rate"          // the rate limit was reached
	DroppedMode          = "dropped_mode"          // the shadow was switched off, or closed, before the comparison
	ShadowTimeout        = "shadow_timeout"        // the candidate exceeded the timeout
	ShadowUnavailable    = "shadow_unavailable"    // the candidate's store was unreachable, or could not serve
	ShadowContended      = "shadow_contended"      // the candidate gave up because other writers kept the key busy
	PrimaryFailed        = "primary_failed"        // the serving path failed, and wrote nothing
	PrimaryIndeterminate = "primary_indeterminate" // the serving path does not know whether it has written
	ShadowPanic          = "shadow_panic"          // the comparison itself panicked
	NotApplicable        = "not_applicable"        // this Comparator does not apply to such a call
)
