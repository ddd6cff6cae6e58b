package cutover

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/unwatch/unwatch/rmw"
)

// advances lists the Phases that may follow each Phase.
var advances = [...][]Phase{
	Follow:   {Follow, Copying},
	Copying:  {Copying, Complete, Reverse},
	Complete: {Complete},
	Reverse:  {Reverse, Copying},
}

// advance reports, as an [rmw.ErrInvalid], that the stage may not follow the last one.
func advance(last, next Stage) error {
	var names []string
	for _, p := range advances[last.Phase] {
		names = append(names, p.String())
	}
	switch {
	case !slices.Contains(advances[last.Phase], next.Phase):
		return fmt.Errorf("%w: the cut-over is at %v, and cannot go to %v; from here it can go to: %s",
			rmw.ErrInvalid, last.Phase, next.Phase, strings.Join(names, ", "))
	case next.Phase == Complete && last.Phase == Copying && !last.drains():
		return fmt.Errorf("%w: the cut-over cannot be complete before every process moves every key; "+
			"publish copying with 100 percent, no labels and no freeze, and sweep", rmw.ErrInvalid)
	}
	return nil
}

// permit reports, as an [rmw.ErrInvalid], that the gates do not permit the step.
func permit(last, next Stage, gates []Gate) error {
	need, do := "", ""
	switch {
	case last.Phase == Follow && next.Phase == Copying:
		need, do = gateOwn, "run Store.Preflight with SweepConfig.NewMasters, and pass its gates"
	case last.Phase == Copying && next.Phase == Complete:
		need, do = gateVerify, "sweep and verify, and pass the gates of Ready"
	default:
		return nil
	}
	if !slices.ContainsFunc(gates, func(g Gate) bool { return g.Name == need }) {
		return fmt.Errorf("%w: %v needs the condition %q: %s", rmw.ErrInvalid, next.Phase, need, do)
	}
	for _, g := range gates {
		if g.State == GateClosed || g.State != GateOpen && next.Phase == Complete {
			return fmt.Errorf("%w: the condition %q is %s: have %s, need %s: %s", rmw.ErrInvalid, g.Name, g.State, g.Have, g.Need, g.Do)
		}
	}
	return nil
}

// Current returns the stage that is published, Follow if there is none. If it can read one store
// only, it returns that store's stage and an error.
func Current(ctx context.Context, name string, old, new rmw.Reader) (Stage, error) {
	key, err := keyOf(name)
	if err != nil {
		return Stage{}, err
	}
	return greatest(readBoth(ctx, key, old, new))
}

// greatest returns the stage with the greatest epoch, the old store's if both have the same.
func greatest(answers []answer) (stage Stage, err error) {
	for _, a := range answers {
		switch {
		case errors.Is(a.err, errNone):
		case a.err != nil:
			err = errors.Join(err, a.err)
		case a.stage.Epoch > stage.Epoch:
			stage = a.stage
		}
	}
	return stage, err
}

// Publish writes the stage into both stores, with the next epoch. [FromKey] and Current read it. It
// permits the steps that [Phase] lists, and refuses others with an [rmw.ErrInvalid].
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
// a [Store.Preflight] over the new masters, none of them closed. The step to Complete needs those of
// [Ready], all of them open. Publish refuses the step otherwise, with an rmw.ErrInvalid.
//
// If the new store fails, the stage has effect, and Publish returns an error: publish it again when
// the new store answers. This way a freeze works without the new store; Complete does not. After an
// [rmw.ErrOutcomeUnknown], read Current.
func Publish(ctx context.Context, name string, old, new rmw.Store, stage Stage, gates ...Gate) error {
	key, err := keyOf(name)
	if err == nil {
		err = stage.Validate()
	}
	if err != nil {
		return err
	}
	basis := stage.Epoch
	present, err := greatest(readBoth(ctx, key, old, new))
	if err != nil && (present.Epoch == 0 || stage.Phase == Complete || errors.Is(err, rmw.ErrInvalid)) {
		return fmt.Errorf("the stage was not published: %w", err)
	}
	if _, err = old.Update(ctx, key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		last, err := greatest([]answer{decodeValue(cur, nil), {stage: present}})
		if err == nil {
			err = advance(last, stage)
		}
		switch {
		case err != nil:
			return cur, err
		case basis == 0 && stage.Phase == Complete && last.Phase != Complete:
			return cur, fmt.Errorf("%w: Complete needs the Epoch of the stage on which the decision is based", rmw.ErrInvalid)
		case basis != 0 && basis != last.Epoch:
			return cur, fmt.Errorf("%w: stage %v with epoch %d was published since epoch %d was read",
				rmw.ErrContended, last.Phase, last.Epoch, basis)
		}
		if err = permit(last, stage, gates); err != nil {
			return cur, err
		}
		stage.Epoch = last.Epoch + 1
		return rmw.String(encode(stage)), nil
	}); err != nil {
		return fmt.Errorf("the stage was not published: %w", err)
	}
	var overtaken error
	if _, err = new.Update(ctx, key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		last, err := greatest([]answer{decodeValue(cur, nil)})
		if err == nil && last.Epoch >= stage.Epoch && encode(last) != encode(stage) {
			overtaken = fmt.Errorf("%w: stage %v with epoch %d was published at the same time", rmw.ErrContended, last.Phase, last.Epoch)
			return cur, overtaken
		}
		return rmw.String(encode(stage)), err
	}); overtaken != nil {
		return overtaken
	} else if err != nil {
		return fmt.Errorf("stage %v is published with epoch %d in the old store, and in force, but not in the new store; publish it again: %w",
			stage.Phase, stage.Epoch, err)
	}
	return nil
}
