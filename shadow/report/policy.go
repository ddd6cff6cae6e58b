package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"
)

// Policy is what it takes to be ready. The zero Policy asks for what the comments say.
// As JSON, its durations are text ("5ms").
type Policy struct {
	// Rate is how often the paths may differ, per call of an operation. Default 1e-4,
	// which takes 29,956 calls without a difference to support.
	Rate float64 `json:"rate,omitempty"`
	// Confidence is that of every bound: how often it must be right. Default 0.95.
	Confidence float64 `json:"confidence,omitempty"`
	// Keys is on how many keys each operation has to be compared, as calls of one key are
	// much alike. Default 3,000; negative: on any.
	Keys int64 `json:"keys,omitempty"`
	// Outcomes is how often each outcome of an operation that was seen ("ok", or the code
	// of a refusal) has to be compared. Default 5; negative: once will do.
	Outcomes int64 `json:"outcomes,omitempty"`
	// NotCompared is the share of an operation's calls, 0 to 1, that may go by without a
	// comparison: what overload hides is what differs under load. Default 0.005.
	NotCompared float64 `json:"notCompared,omitempty"`
	// Peak is the share of the busiest minute's load, 0 to 1, that has to be compared once
	// in a minute without a single drop: drops come with contention, which is what the
	// shadow is there to see. Default 0.8; negative: none.
	Peak float64 `json:"peak,omitempty"`
	// Contended is how many commits of the free run must have met another writer: without
	// them, that no update was lost says nothing. Default 3,000; negative: none.
	Contended int64 `json:"contended,omitempty"`
	// Rounds is in how many rounds in a row the verifier has to find all keys equal.
	// Default 2; negative: none, and no verifier is asked for.
	Rounds int `json:"rounds,omitempty"`

	// LatencyFactor and LatencySlack say how much slower the candidate's p99 may be:
	// at most the legacy path's, times the factor, plus the slack. Defaults 1.2 and 5 ms.
	LatencyFactor float64       `json:"latencyFactor,omitempty"`
	LatencySlack  time.Duration `json:"latencySlack,omitempty"`
	// RTT is a round trip to the candidate's store. The candidate's p50 may be slower by
	// two of them: to lock, and to unlock. Default 1 ms.
	RTT time.Duration `json:"rtt,omitempty"`

	// Errors is by how much the candidate's rate of infrastructure errors, per call, may
	// exceed the legacy path's. Default 1e-4.
	Errors float64 `json:"errors,omitempty"`
	// LockTimeouts is how often, per call, the candidate may give up because of other
	// writers ("contended"). Default 1e-4.
	LockTimeouts float64 `json:"lockTimeouts,omitempty"`
	// Lag is what the p99 of the time from a call to its comparison has to stay below.
	// Default 1 s.
	Lag time.Duration `json:"lag,omitempty"`
	// Silence is after how long without a sign a process counts as behind. Default 1 m.
	Silence time.Duration `json:"silence,omitempty"`

	// Uncalibrated accepts a report without a clean A/A run before it.
	Uncalibrated bool `json:"uncalibrated,omitempty"`

	// Known are the differences that are explained, and fixed.
	Known []Known `json:"known,omitempty"`
}

// Known is a kind of difference that is explained, and fixed. What was found of it before
// the fix does not block any more. It did happen, though, and counts as events for the
// bound of the rate. All four must fit.
type Known struct {
	// Domain and Operation name the operation. Both are empty for what the verifier has
	// found; Domain alone is, for keys without a label.
	Domain    string `json:"domain,omitempty"`
	Operation string `json:"operation,omitempty"`
	Class     Class  `json:"class"`
	// Path is the template as the Finding has it, empty included.
	Path string `json:"path,omitempty"`
	// Why says what it was, and where it was fixed.
	Why string `json:"why"`
}

// Validate reports everything that makes no sense.
func (p Policy) Validate() error {
	var errs []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf("report: policy: "+format, args...))
		}
	}
	for _, share := range []struct {
		name  string
		value float64
	}{
		{"rate", p.Rate}, {"notCompared", p.NotCompared}, {"errors", p.Errors}, {"lockTimeouts", p.LockTimeouts},
	} {
		refuse(!(share.value >= 0 && share.value < 1), "%s is %v: it is a share, from 0 (the default) to less than 1",
			share.name, share.value)
	}
	refuse(p.Rate > 0 && p.Rate < 1e-9, "rate is %v: nobody has as many calls as that takes", p.Rate)
	refuse(!(p.Peak <= 1), "peak is %v: it is a share, up to 1", p.Peak)
	refuse(p.Confidence != 0 && !(p.Confidence >= 0.5 && p.Confidence <= 0.999999),
		"confidence is %v: it is a share from 0.5 to 0.999999, like 0.95", p.Confidence)
	refuse(p.LatencyFactor != 0 && !(p.LatencyFactor >= 1 && p.LatencyFactor <= math.MaxInt32),
		"latencyFactor is %v: 1.2 permits a fifth more, and less than 1 asks for a gain", p.LatencyFactor)
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"latencySlack", p.LatencySlack}, {"rtt", p.RTT}, {"lag", p.Lag}, {"silence", p.Silence}} {
		refuse(d.value < 0, "%s is %v: it cannot be negative", d.name, d.value)
	}
	for i, known := range p.Known {
		refuse(!known.Class.Blocks(), "known %d: class %q does not block anyway", i+1, known.Class)
		refuse(known.Why == "", "known %d (%s): say why it is explained, and where it was fixed", i+1, known.Class)
		refuse(known.Domain != "" && known.Operation == "",
			"known %d (%s): name the operation too, or neither for what the verifier has found", i+1, known.Class)
	}
	return errors.Join(errs...)
}

// withDefaults returns p with every default in its place.
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
	for _, k := range p.Known {
		if k.Domain == domain && k.Operation == operation && k.Class == class && k.Path == path {
			return true
		}
	}
	return false
}

// plainPolicy is a Policy without its methods.
type plainPolicy Policy

// policyText is a Policy with its durations as text: they hide those of the same name.
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

// UnmarshalJSON implements [json.Unmarshaler]. A field that a Policy has not is an error:
// people write these files, and what is misspelt would be a default.
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

// ReadPolicy reads a Policy from JSON, and validates it.
func ReadPolicy(r io.Reader) (Policy, error) {
	var p Policy
	text, err := io.ReadAll(io.LimitReader(r, 1<<20))
	if err != nil {
		return Policy{}, fmt.Errorf("report: reading the policy: %w", err)
	}
	if err := json.Unmarshal(text, &p); err != nil {
		return Policy{}, fmt.Errorf("report: the policy cannot be used: %w", err)
	}
	return p, p.Validate()
}
