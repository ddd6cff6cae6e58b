package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// grouped writes a count for people: 29,956.
func grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// counted is a count with its noun: "1 call", "2 calls".
func counted(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return grouped(n) + " " + noun + "s"
}

// percentage writes a share, 0 to 1, with what digits it takes: 0.08 %.
func percentage(share float64) string { return strconv.FormatFloat(100*share, 'g', 3, 64) + " %" }

// scientific writes a rate: 1.09e-4.
func scientific(rate float64) string {
	if rate >= 0.01 || rate <= 0 {
		return strconv.FormatFloat(rate, 'g', 3, 64)
	}
	digits, exponent, _ := strings.Cut(strconv.FormatFloat(rate, 'e', 2, 64), "e-")
	if strings.Contains(digits, ".") {
		digits = strings.TrimRight(strings.TrimRight(digits, "0"), ".")
	}
	return digits + "e-" + strings.TrimLeft(exponent, "0")
}

// took writes a duration of a call, with three digits: 2.15 ms.
func took(d time.Duration) string {
	if d >= time.Second {
		return fmt.Sprintf("%.3g s", d.Seconds())
	}
	return milliseconds(d) + " ms"
}

// milliseconds is took where the unit is said elsewhere.
func milliseconds(d time.Duration) string {
	ms := float64(d) / float64(time.Millisecond)
	switch {
	case ms >= 100:
		return fmt.Sprintf("%.0f", ms)
	case ms >= 10:
		return fmt.Sprintf("%.1f", ms)
	default:
		return fmt.Sprintf("%.2f", ms)
	}
}

// classText says in words what a class is.
func classText(c Class) string {
	switch c {
	case Nondeterministic:
		return "disagrees with itself"
	case ErrorClass:
		return "another outcome"
	case LostWrite:
		return "write lost"
	case ValueDiffers:
		return "value differs"
	case TTLDiffers:
		return "expiry differs"
	case LostUpdate:
		return "update lost"
	case DoubleApply:
		return "applied twice"
	case ForeignWrite:
		return "written by a stranger"
	case DriftGap:
		return "gap before it"
	case DriftInherited:
		return "dirty before it"
	case OrderOnly:
		return "order differs"
	case EncodingOnly:
		return "encoding differs"
	case MatchNoop:
		return "both wrote nothing"
	case Match:
		return "same"
	default:
		return string(c)
	}
}

// classAdvice says what to do about a class that blocks.
func classAdvice(c Class) string {
	switch c {
	case Nondeterministic:
		return "run twice on one input, the operation differs: take the time, ids and chance from EnvOf, or remove it from Config.Pure"
	case ErrorClass:
		return "one path refuses what the other does: compare what both answered in the samples"
	case LostWrite:
		return "the candidate reports a write that is not stored: find why it ignores the reply of its commit, " +
			"or what removes keys there (eviction, an expiry in the wrong unit)"
	case ValueDiffers:
		return "compare both documents in the samples, and fix the codec or the operation, or list the path in Config.Domains"
	case TTLDiffers:
		return "find the write that sets no expiry, or another: it belongs into the same write as the value, and a write that keeps " +
			"the expiry must not start it anew"
	case LostUpdate:
		return "an acknowledged update was overwritten: find the write or the delete that is not guarded by the whole value that was " +
			"read, or the lease that ends before fn does; if a write was lost too, begin there"
	case DoubleApply:
		return "a commit was applied twice: find what sends it again without asking whether it arrived"
	case ForeignWrite:
		return "find out who else writes to the candidate's store; if a sample names another key, the candidate stores both under " +
			"one name: compare how it makes names (case, prefix, length)"
	default:
		return "look at the samples"
	}
}

// reasonAdvice says what to do when calls are not compared for a reason, and which field
// of the Store's Config, or of the candidate's, that takes.
func reasonAdvice(r Reason) string {
	switch r {
	case DroppedQueue:
		return "raise Config.Workers or Config.QueueCalls, or lower Config.Percent"
	case DroppedBytes:
		return "raise Config.Workers or Config.QueueBytes, or lower Config.Percent"
	case DroppedBreaker, ShadowUnavailable:
		return "the candidate's store was out of reach: see its errors; if it is overloaded, lower Config.Percent or Config.Rate"
	case DroppedRate:
		return "raise Config.Rate, or lower Config.Percent"
	case DroppedMode:
		return "the shadow was switched off meanwhile (Kill, Close, SetPercent): count anew"
	case ShadowTimeout:
		return "the candidate took too long: see its latencies and lock waits; raise Config.Timeout only if callers wait that long too"
	case ShadowContended:
		return "the candidate was contended: other writers kept the key busy until it gave up. Raise its lockupdate.Config.MaxWait or " +
			"MaxAttempts, see whether a lock outlives its holder (Config.Lease) or is shared by many keys (Config.LockName), or split the hot key"
	case PrimaryIndeterminate:
		return "the serving path did not know whether it had written: look at its connections"
	case Superseded:
		return "keys were copied anew too often: either another process mirrors them later than Config.LockstepWait, or two keys share one " +
			"value at the candidate (names that differ in case, or by a prefix); to learn which ones, run one process with Config.Sole"
	case ShadowPanic:
		return "the comparison panicked: a Project of Config.Domains, or the candidate; see panics"
	default:
		return "find out why they were not compared"
	}
}

// operationName is how texts name an operation.
func operationName(domain, name string) string {
	switch {
	case domain == "":
		return name
	case name == "":
		return domain
	default:
		return domain + "/" + name
	}
}
