package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"time"
)

// Policy has the limits of a verdict. A zero Policy of [Report.Judge] means [Report.Policy]. A zero
// field has the default below. The defaults fit a service that calls each operation 30,000 times while the shadow runs. Below a minimum, a
// gate says not enough data and what is missing; above a maximum, it says not ready. As JSON,
// durations are text ("5ms").
type Policy struct {
	// Rate is the highest acceptable rate of differences, per call of an operation. n calls
	// without a difference support a rate of 3/n at 95 % confidence. Default 1e-4, which
	// takes 29,956 calls: a service with a million calls a day then has at most 100 wrong
	// ones. A service with fewer calls needs a higher rate: 1e-3 takes 2,995 calls, 0.01
	// takes 299.
	Rate float64 `json:"rate,omitempty"`
	// Confidence is the probability, per gate, that a bound holds. Default 0.95, as is usual
	// for bounds. 0.99 takes 1.5 times the calls.
	Confidence float64 `json:"confidence,omitempty"`
	// Keys is the number of keys on which each operation must be compared. Calls of one key
	// are alike and prove less than as many independent calls. Default 3,000, a tenth of the
	// calls; negative: any number. A service with fewer keys sets their number.
	Keys int64 `json:"keys,omitempty"`
	// Outcomes is the number of comparisons of each outcome that was seen: "ok", or the code
	// of a refusal. Default 5, so that a rare refusal is not compared by chance only;
	// negative: one.
	Outcomes int64 `json:"outcomes,omitempty"`
	// NotCompared is the highest share, 0 to 1, of an operation's calls without a comparison.
	// Default 0.005: calls are dropped under load, which is when paths differ. A higher share
	// is not ready, with the most frequent reason.
	NotCompared float64 `json:"notCompared,omitempty"`
	// Peak is the share, 0 to 1, of the busiest minute's load that some minute without a drop
	// must have reached. Default 0.8, as loads vary by a fifth between two peaks; negative:
	// none.
	Peak float64 `json:"peak,omitempty"`
	// Contended is the number of commits of the free run that must have met another writer:
	// without them, no lost update proves nothing. Default 3,000, which supports a rate of
	// 0.001 per contended commit; negative: none. Forced conflicts yield one for up to a
	// quarter of the writes, if the candidate makes writers wait or try again.
	Contended int64 `json:"contended,omitempty"`

	// LatencyFactor and LatencySlack bound the candidate's p99: the legacy path's p99, times
	// the factor, plus the slack. Defaults 1.2 and 5 ms: a fifth is below what users notice,
	// and the slack covers the two additional round trips of a lock. The gate needs 368
	// calls of each operation.
	LatencyFactor float64       `json:"latencyFactor,omitempty"`
	LatencySlack  time.Duration `json:"latencySlack,omitempty"`
	// RTT is the time of a round trip to the candidate's store. The candidate's p50 may
	// exceed the legacy path's by two of them, to lock and to unlock. Default 1 ms, for a
	// proxy in the same data centre. With a longer round trip, the default is not ready.
	RTT time.Duration `json:"rtt,omitempty"`

	// Errors is the highest excess of the candidate's rate of infrastructure errors, per call
	// of its store, over the legacy path's. Default 1e-4, which takes 29,956 such calls; each
	// call of the service makes several.
	Errors float64 `json:"errors,omitempty"`
	// LockTimeouts is the highest rate, per call of its store, at which the candidate gives
	// up because of other writers ("contended"). Default 1e-4, for the same number of calls.
	LockTimeouts float64 `json:"lockTimeouts,omitempty"`
	// Lag bounds the p99 of the time from a call to the end of its comparison. Default 1 s:
	// with a longer lag, the shadow does not keep up with the load. The gate needs 368 calls.
	Lag time.Duration `json:"lag,omitempty"`
	// Silence is the age of a process's last report from which the process counts as behind,
	// which is not ready. Default 1 m, for processes that publish several times a minute.
	Silence time.Duration `json:"silence,omitempty"`

	// Uncalibrated accepts a report without a calibration: an A/A run without a difference,
	// of as many calls as Rate takes. Default false, as noise would look like a fault.
	Uncalibrated bool `json:"uncalibrated,omitempty"`

	// Known lists differences that are explained and fixed. Default none.
	Known []Known `json:"known,omitempty"`
}

// Known is a kind of difference that is explained and fixed. Its findings from before the fix do
// not block. They still count as events for the bound of the rate. A finding must match Domain,
// Operation, Class and Path.
type Known struct {
	// Domain and Operation name the operation. Domain is empty for keys without a label.
	Domain    string `json:"domain,omitempty"`
	Operation string `json:"operation"`
	Class     Class  `json:"class"`
	// Path is the template of the Finding. It may be empty.
	Path string `json:"path,omitempty"`
	// Why states the cause, and where it was fixed.
	Why string `json:"why"`
}

// Validate reports every field that makes no sense.
func (p Policy) Validate() error {
	var errs []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf("report: policy: "+format, args...))
		}
	}
	share := func(name string, value float64) {
		refuse(!(value >= 0 && value < 1), "%s is %v: want a share from 0 (the default) to less than 1", name, value)
	}
	share("rate", p.Rate)
	share("notCompared", p.NotCompared)
	share("errors", p.Errors)
	share("lockTimeouts", p.LockTimeouts)
	refuse(p.Rate > 0 && p.Rate < 1e-9, "rate is %v: want at least 1e-9; a smaller rate takes too many calls", p.Rate)
	refuse(!(p.Peak <= 1), "peak is %v: want a share of at most 1", p.Peak)
	refuse(p.Confidence != 0 && !(p.Confidence >= 0.5 && p.Confidence <= 0.999999),
		"confidence is %v: want a share from 0.5 to 0.999999, like 0.95", p.Confidence)
	refuse(p.LatencyFactor != 0 && !(p.LatencyFactor >= 1 && p.LatencyFactor <= math.MaxInt32),
		"latencyFactor is %v: want at least 1; 1.2 permits a fifth more", p.LatencyFactor)
	duration := func(name string, value time.Duration) {
		refuse(value < 0, "%s is %v: want 0 (the default) or more", name, value)
	}
	duration("latencySlack", p.LatencySlack)
	duration("rtt", p.RTT)
	duration("lag", p.Lag)
	duration("silence", p.Silence)
	for i, known := range p.Known {
		refuse(!known.Class.Blocks(), "known %d: class %q does not block: remove the entry", i+1, known.Class)
		refuse(known.Why == "", "known %d (%s): set why to the cause, and where it was fixed", i+1, known.Class)
		refuse(known.Operation == "", "known %d (%s): set operation to the name of the operation", i+1, known.Class)
	}
	return errors.Join(errs...)
}

func (p Policy) withDefaults() Policy {
	p.Rate = cmp.Or(p.Rate, 1e-4)
	p.Confidence = cmp.Or(p.Confidence, 0.95)
	p.Keys = cmp.Or(p.Keys, 3000)
	p.Outcomes = cmp.Or(p.Outcomes, 5)
	p.NotCompared = cmp.Or(p.NotCompared, 0.005)
	p.Peak = cmp.Or(p.Peak, 0.8)
	p.Contended = cmp.Or(p.Contended, 3000)
	p.LatencyFactor = cmp.Or(p.LatencyFactor, 1.2)
	p.LatencySlack = cmp.Or(p.LatencySlack, 5*time.Millisecond)
	p.RTT = cmp.Or(p.RTT, time.Millisecond)
	p.Errors = cmp.Or(p.Errors, 1e-4)
	p.LockTimeouts = cmp.Or(p.LockTimeouts, 1e-4)
	p.Lag = cmp.Or(p.Lag, time.Second)
	p.Silence = cmp.Or(p.Silence, time.Minute)
	return p
}

// under returns the policy of a verdict: p, or Report.Policy if p is zero.
func (r *Report) under(p Policy) Policy {
	if p.isZero() {
		return r.Policy
	}
	return p
}

func (p Policy) isZero() bool { return reflect.ValueOf(p).IsZero() }

// knows reports whether a difference is explained.
func (p Policy) knows(domain, operation string, class Class, path string) bool {
	return slices.ContainsFunc(p.Known, func(k Known) bool { k.Why = ""; return k == Known{domain, operation, class, path, ""} })
}

// plainPolicy is a Policy without its methods.
type plainPolicy Policy

// policyText is a Policy with its durations as text. Its fields hide those of the same name.
type policyText struct {
	*plainPolicy
	LatencySlack durationText `json:"latencySlack,omitempty"`
	RTT          durationText `json:"rtt,omitempty"`
	Lag          durationText `json:"lag,omitempty"`
	Silence      durationText `json:"silence,omitempty"`
}

type durationText time.Duration

func (d durationText) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

func (d *durationText) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = durationText(parsed)
	return err
}

// MarshalJSON implements [json.Marshaler].
func (p Policy) MarshalJSON() ([]byte, error) {
	return json.Marshal(policyText{
		(*plainPolicy)(&p), durationText(p.LatencySlack), durationText(p.RTT), durationText(p.Lag), durationText(p.Silence),
	})
}

// UnmarshalJSON implements [json.Unmarshaler]. An unknown field is an error: people write these
// files, and a misspelt field would have its default.
func (p *Policy) UnmarshalJSON(text []byte) error {
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	return p.decode(in)
}

// writtenPolicy is the Policy of a Report that a program wrote. It may have fields of a later version.
type writtenPolicy Policy

// UnmarshalJSON implements [json.Unmarshaler].
func (p *writtenPolicy) UnmarshalJSON(text []byte) error {
	return (*Policy)(p).decode(json.NewDecoder(bytes.NewReader(text)))
}

func (p *Policy) decode(in *json.Decoder) error {
	var read Policy
	t := policyText{plainPolicy: (*plainPolicy)(&read)}
	if err := in.Decode(&t); err != nil {
		return err
	}
	read.LatencySlack, read.RTT = time.Duration(t.LatencySlack), time.Duration(t.RTT)
	read.Lag, read.Silence = time.Duration(t.Lag), time.Duration(t.Silence)
	*p = read
	return nil
}
