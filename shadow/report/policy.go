package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"
)

// Policy sets the limits of the gates. The zero Policy has the defaults in the comments. In JSON,
// durations are text ("5ms").
type Policy struct {
	// Rate is the limit of differences per call of an operation. Default 1e-4, which takes 29,956
	// calls without a difference to support.
	Rate float64 `json:"rate,omitempty"`
	// Confidence is the confidence of every bound. Default 0.95.
	Confidence float64 `json:"confidence,omitempty"`
	// Keys is the number of keys on which each operation must be compared: calls of one key are
	// much alike. Default 3,000; negative: any number.
	Keys int64 `json:"keys,omitempty"`
	// Outcomes is the number of comparisons for each outcome of an operation that occurred: "ok",
	// or the code of a refusal. Default 5; negative: 1.
	Outcomes int64 `json:"outcomes,omitempty"`
	// NotCompared is the share of an operation's calls, 0 to 1, that may be missed: calls that
	// overload drops are the ones that differ under load. Default 0.005.
	NotCompared float64 `json:"notCompared,omitempty"`
	// Peak is the share of the busiest minute's load, 0 to 1, that must be compared in one minute
	// without a drop: drops come with contention, which the shadow has to cover. Default 0.8;
	// negative: none.
	Peak float64 `json:"peak,omitempty"`
	// Contended is the number of commits of the free run that must have met another writer.
	// Without contention, no update can be lost. Default 3,000; negative: none.
	Contended int64 `json:"contended,omitempty"`
	// Rounds is the number of consecutive rounds in which the verifier must find all keys equal.
	// Default 2; negative: none, and no verifier is needed.
	Rounds int `json:"rounds,omitempty"`

	// The candidate's p99 may be at most the legacy path's, times LatencyFactor, plus LatencySlack.
	// Defaults 1.2 and 5 ms.
	LatencyFactor float64       `json:"latencyFactor,omitempty"`
	LatencySlack  time.Duration `json:"latencySlack,omitempty"`
	// RTT is a round trip to the candidate's store. The candidate's p50 may be slower by
	// two of them: to lock, and to unlock. Default 1 ms.
	RTT time.Duration `json:"rtt,omitempty"`

	// Errors is the limit by which the candidate's rate of infrastructure errors, per call, may
	// exceed the legacy path's. Default 1e-4.
	Errors float64 `json:"errors,omitempty"`
	// LockTimeouts is the limit of calls that the candidate gives up because of other writers
	// ("contended"), per call. Default 1e-4.
	LockTimeouts float64 `json:"lockTimeouts,omitempty"`
	// Lag is the limit of the p99 of the time from a call to its comparison. Default 1 s.
	Lag time.Duration `json:"lag,omitempty"`
	// Silence is the time after which a process without a sign of life counts as behind. Default 1 m.
	Silence time.Duration `json:"silence,omitempty"`

	// Uncalibrated accepts a report without a clean A/A run before it.
	Uncalibrated bool `json:"uncalibrated,omitempty"`

	// Known lists differences that are explained and fixed.
	Known []Known `json:"known,omitempty"`
}

// Known is a kind of difference that is explained and fixed. Its findings from before the fix do
// not block. They still count as events for the bound of the rate. A finding must match Domain,
// Operation, Class and Path.
type Known struct {
	// Domain and Operation name the operation. Both are empty for findings of the verifier.
	// Only Domain is empty for keys without a label.
	Domain    string `json:"domain,omitempty"`
	Operation string `json:"operation,omitempty"`
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
		refuse(known.Domain != "" && known.Operation == "",
			"known %d (%s): set operation too, or leave domain empty for findings of the verifier", i+1, known.Class)
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
	p.Rounds = cmp.Or(p.Rounds, 2)
	p.LatencyFactor = cmp.Or(p.LatencyFactor, 1.2)
	p.LatencySlack = cmp.Or(p.LatencySlack, 5*time.Millisecond)
	p.RTT = cmp.Or(p.RTT, time.Millisecond)
	p.Errors = cmp.Or(p.Errors, 1e-4)
	p.LockTimeouts = cmp.Or(p.LockTimeouts, 1e-4)
	p.Lag = cmp.Or(p.Lag, time.Second)
	p.Silence = cmp.Or(p.Silence, time.Minute)
	return p
}

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
	var read Policy
	t := policyText{plainPolicy: (*plainPolicy)(&read)}
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	if err := in.Decode(&t); err != nil {
		return err
	}
	read.LatencySlack, read.RTT = time.Duration(t.LatencySlack), time.Duration(t.RTT)
	read.Lag, read.Silence = time.Duration(t.Lag), time.Duration(t.Silence)
	*p = read
	return nil
}

// ReadPolicy reads and validates a Policy in JSON.
func ReadPolicy(r io.Reader) (Policy, error) {
	var p Policy
	text, err := io.ReadAll(io.LimitReader(r, 1<<20))
	if err != nil {
		return Policy{}, fmt.Errorf("report: reading the policy: %w", err)
	}
	if err := json.Unmarshal(text, &p); err != nil {
		return Policy{}, fmt.Errorf("report: parsing the policy: %w", err)
	}
	return p, p.Validate()
}
