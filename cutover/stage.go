package cutover

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/unwatch/unwatch/internal/keyhash"
	"github.com/unwatch/unwatch/rmw"
)

// Phase is how far the cut-over is. It says which keys shall move, and in which store a process
// looks first. The markers in the keys say where a key is, so a process with an old Phase is slow,
// and never wrong. Complete is the exception: see there.
//
// operate.Publish permits these steps:
//
//	Follow -> Copying -> Complete
//	Copying <-> Reverse
//
// A step may also change Percent, Labels and Freeze only. Two states of a cut-over are no Phase of
// their own: before Follow, no process has a [Store]; and a cut-over is drained when its Phase is
// Copying with 100 percent, and the sweeper has found nothing to move in two passes (see operate.Ready).
type Phase uint8

const (
	// Follow moves nothing, and follows keys that have moved. It is the zero Phase: every process
	// must be there before the first key moves.
	Follow Phase = iota
	// Copying moves the keys of Stage.Labels and Stage.Percent to the new store when they are
	// updated.
	Copying
	// Complete uses the new store only. The old one is not looked at: a key that did not move is
	// absent. There is no way back. Before Complete every process must be at Copying with 100
	// percent of all labels, and not frozen: a process that moves less creates keys in the old
	// store, where they are lost.
	Complete
	// Reverse moves keys to the old store when they are updated.
	Reverse
)

// String returns the name of the Phase.
func (p Phase) String() string {
	switch p {
	case Follow:
		return "follow"
	case Copying:
		return "copying"
	case Complete:
		return "complete"
	case Reverse:
		return "reverse"
	}
	return fmt.Sprintf("Phase(%d)", uint8(p))
}

// MarshalText returns the name of the Phase.
func (p Phase) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText accepts what MarshalText returns for a valid Phase.
func (p *Phase) UnmarshalText(text []byte) error {
	for *p = Follow; *p <= Reverse; *p++ {
		if p.String() == string(text) {
			return nil
		}
	}
	return fmt.Errorf("%w: the stage is %.40q; use follow, copying, complete or reverse", rmw.ErrInvalid, text)
}

// Stage is the present Phase, and the keys that it is for.
type Stage struct {
	// Epoch numbers the stages that were published: a process ignores a smaller one than it has
	// seen. It is 0 for a Stage that was not published.
	Epoch uint64 `json:"epoch"`
	Phase Phase  `json:"stage"`
	// Percent of the keys that Copying moves, chosen by a hash of their names: keys that were
	// chosen stay so as it grows.
	Percent int `json:"percent"`
	// Labels are the Key.Label that move; empty: all.
	Labels []string `json:"labels,omitempty"`
	// Freeze stops new moves in every Phase. Moves that have begun are completed.
	Freeze bool `json:"freeze,omitempty"`
}

// String returns the stage without its Epoch, such as "copying 5 % of room, frozen".
func (s Stage) String() string {
	text := s.Phase.String()
	if s.Phase == Copying {
		text += fmt.Sprintf(" %d %%", s.Percent)
		if len(s.Labels) > 0 {
			text += " of " + strings.Join(s.Labels, ", ")
		}
	}
	if s.Freeze {
		text += ", frozen"
	}
	return text
}

// Validate reports, as an [rmw.ErrInvalid], what cannot work.
func (s Stage) Validate() error {
	switch {
	case s.Phase > Reverse:
		return fmt.Errorf("%w: cutover.Stage.Phase is %d; use Follow, Copying, Complete or Reverse", rmw.ErrInvalid, s.Phase)
	case s.Percent < 0 || s.Percent > 100:
		return fmt.Errorf("%w: cutover.Stage.Percent is %d; use 0 to 100", rmw.ErrInvalid, s.Percent)
	}
	return nil
}

// Stage returns itself, so that a Stage is the [Source] of a stage that never changes.
func (s Stage) Stage(context.Context) (Stage, error) { return s, nil }

// chosen says whether Copying moves the key.
func (s Stage) chosen(key rmw.Key) bool {
	if len(s.Labels) > 0 && !slices.Contains(s.Labels, key.Label) {
		return false
	}
	return keyhash.Of(key.Name)%100 < uint64(s.Percent)
}
