package operate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/cutover/internal/names"
	"github.com/unwatch/unwatch/rmw"
)

// advances lists the Phases that may follow each Phase.
var advances = [...][]cutover.Phase{
	cutover.Follow:   {cutover.Follow, cutover.Copying},
	cutover.Copying:  {cutover.Copying, cutover.Complete, cutover.Reverse},
	cutover.Complete: {cutover.Complete},
	cutover.Reverse:  {cutover.Reverse, cutover.Copying},
}

// advance reports, as an [rmw.ErrInvalid], that the stage may not follow the last one.
func advance(last, next cutover.Stage) error {
	var names []string
	for _, p := range advances[last.Phase] {
		names = append(names, p.String())
	}
	switch {
	case !slices.Contains(advances[last.Phase], next.Phase):
		return fmt.Errorf("%w: the cut-over is at %v, and cannot go to %v; from here it can go to: %s",
			rmw.ErrInvalid, last.Phase, next.Phase, strings.Join(names, ", "))
	case next.Phase == cutover.Complete && last.Phase == cutover.Copying && !drains(last):
		return fmt.Errorf("%w: the cut-over cannot be complete before every process moves every key; "+
			"publish copying with 100 percent, no labels and no freeze, and sweep", rmw.ErrInvalid)
	}
	return nil
}

// drains reports whether every key of every label moves to the new store when it is updated.
func drains(s cutover.Stage) bool {
	return s.Phase == cutover.Copying && s.Percent == 100 && len(s.Labels) == 0 && !s.Freeze
}

// permit reports, as an [rmw.ErrInvalid], that the gates do not permit the step.
func permit(last, next cutover.Stage, gates []Gate) error {
	need, do := "", ""
	switch {
	case last.Phase == cutover.Follow && next.Phase == cutover.Copying:
		need, do = gateOwn, "run operate.Preflight with SweepConfig.NewMasters, and pass its gates"
	case last.Phase == cutover.Copying && next.Phase == cutover.Complete:
		need, do = gateVerify, "sweep and verify, and pass the gates of Ready"
	default:
		return nil
	}
	if !slices.ContainsFunc(gates, func(g Gate) bool { return g.Name == need }) {
		return fmt.Errorf("%w: %v needs the condition %q: %s", rmw.ErrInvalid, next.Phase, need, do)
	}
	for _, g := range gates {
		if g.State == GateClosed || g.State != GateOpen && next.Phase == cutover.Complete {
			do := g.Do
			if len(g.Names) > 0 {
				do += ", such as " + strings.Join(g.Names[:min(len(g.Names), 3)], "; ")
			}
			return fmt.Errorf("%w: the condition %q is %s: have %s, need %s: %s", rmw.ErrInvalid, g.Name, g.State, g.Have, g.Need, do)
		}
	}
	return nil
}

// Publish writes the stage into both stores, with the next epoch. [cutover.FromKey] and [cutover.Current] read it. It
// permits the steps that [cutover.Phase] lists, and refuses others with an [rmw.ErrInvalid]. A stage that is published
// already keeps its epoch, so that the passes of its epoch still count: Publish then writes it only into a store
// that lacks it.
//
// Set stage.Epoch to that of the stage on which the decision is based. Publish fails with
// [rmw.ErrContended] if another stage was published since. With an Epoch of 0 it does not check,
// except that Complete needs it.
//
// The old store is written first, and decides between concurrent calls: two stages never have the
// same epoch there. A process that reads one of the documents only is therefore at the new stage or
// at the one before, as any process is for two seconds, and ignores the smaller epoch later.
//
// gates are the conditions on which the decision is based. The step from Follow to Copying needs those of
// a [Preflight] over the new masters, none of them closed. The step to Complete needs those of
// [Ready], all of them open. Publish refuses the step otherwise, with an rmw.ErrInvalid.
//
// If the new store fails, the stage has effect, and Publish returns an error: publish it again when
// the new store answers. This way a freeze works without the new store; Complete does not.
//
// A stage that differs from the published one by its Freeze only also works without the old store. If the old
// store does not take it within 3 s, Publish writes it into the new store alone, 100 epochs ahead, where it has
// effect, and returns an error: publish it again when the old store answers.
//
// After an [rmw.ErrOutcomeUnknown], read cutover.Current.
func Publish(ctx context.Context, name string, old, new rmw.Store, stage cutover.Stage, gates ...Gate) error {
	key, err := names.Document(name)
	if err == nil {
		err = stage.Validate()
	}
	if err != nil {
		return err
	}
	present, err := cutover.Current(ctx, name, old, new)
	if err != nil && (present.Epoch == 0 || stage.Phase == cutover.Complete || errors.Is(err, rmw.ErrInvalid)) {
		return fmt.Errorf("the stage was not published: %w", err)
	}
	freezes := stage.Freeze && stage.Phase != cutover.Complete
	oldCtx, cancel := ctx, func() {}
	if freezes {
		oldCtx, cancel = context.WithTimeout(ctx, freezeWait)
	}
	defer cancel()
	var next cutover.Stage
	var refused error
	if _, err = old.Update(oldCtx, key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		last, err := later(cur, present)
		if err == nil {
			next, err = successor(last, stage, gates)
		}
		if refused = err; err != nil {
			return cur, err
		}
		return rmw.String(next.Document()), nil
	}); err != nil && (refused != nil || !freezes) {
		return fmt.Errorf("the stage was not published: %w", err)
	}
	if oldErr := err; oldErr != nil {
		if next, err = freezeNew(ctx, key, new, present, stage); err != nil {
			return fmt.Errorf("the stage was not published: %w", errors.Join(oldErr, err))
		}
		return halfPublished(next, "new", "old", oldErr)
	}
	var overtaken error
	if _, err = new.Update(ctx, key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		last, err := later(cur, cutover.Stage{})
		if err == nil && last.Epoch >= next.Epoch && last.Document() != next.Document() {
			overtaken = fmt.Errorf("%w: stage %v with epoch %d was published at the same time", rmw.ErrContended, last.Phase, last.Epoch)
			return cur, overtaken
		}
		return rmw.String(next.Document()), err
	}); overtaken != nil {
		return overtaken
	} else if err != nil {
		return halfPublished(next, "old", "new", err)
	}
	return nil
}

// later returns the stage of the document, if there is one with an epoch of at least that of present.
func later(document rmw.Value, present cutover.Stage) (cutover.Stage, error) {
	if !document.Exists() {
		return present, nil
	}
	stage, err := cutover.ParseStage([]byte(document.Text()))
	if err != nil || stage.Epoch < present.Epoch {
		return present, err
	}
	return stage, nil
}

func halfPublished(stage cutover.Stage, has, lacks string, err error) error {
	return fmt.Errorf("stage %v is published with epoch %d in the %s store, and in force, but not in the %s store; publish it again: %w",
		stage, stage.Epoch, has, lacks, err)
}

// successor returns the stage with the epoch after that of last, or last itself if both are the same.
func successor(last, stage cutover.Stage, gates []Gate) (cutover.Stage, error) {
	basis := stage.Epoch
	stage.Epoch = last.Epoch
	switch err := advance(last, stage); {
	case err != nil:
		return last, err
	case basis == 0 && stage.Phase == cutover.Complete && last.Phase != cutover.Complete:
		return last, fmt.Errorf("%w: Complete needs the Epoch of the stage on which the decision is based", rmw.ErrInvalid)
	case basis != 0 && basis != last.Epoch:
		return last, fmt.Errorf("%w: stage %v with epoch %d was published since epoch %d was read",
			rmw.ErrContended, last.Phase, last.Epoch, basis)
	case last.Epoch > 0 && last.Document() == stage.Document():
		return last, nil
	}
	stage.Epoch++
	return stage, permit(last, stage, gates)
}

// freezeWait is how long a freeze waits for the old store.
const freezeWait = 3 * time.Second

// freezeLead is larger than the number of stages that the old store may have and the new one not: each of them
// was published while the new store was down.
const freezeLead = 100

// freezeNew publishes a freeze in the new store alone. A freeze is safe at any time, and its epoch is beyond that of
// every other stage, also of one that a concurrent Publish writes into the old store.
func freezeNew(ctx context.Context, key rmw.Key, new rmw.Store, present, stage cutover.Stage) (next cutover.Stage, err error) {
	_, err = new.Update(ctx, key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		last, err := later(cur, present)
		if err == nil {
			next, err = successor(last, stage, nil)
		}
		if err != nil {
			return cur, err
		}
		if next.Epoch > last.Epoch {
			next.Epoch = last.Epoch + freezeLead
		}
		if last.Epoch, last.Freeze = next.Epoch, true; last.Document() != next.Document() {
			return cur, fmt.Errorf("%w: without the old store, only Freeze may change", rmw.ErrInvalid)
		}
		return rmw.String(next.Document()), nil
	})
	return next, err
}
