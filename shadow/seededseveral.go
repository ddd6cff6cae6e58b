package shadow

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/rmw/driver"
	"github.com/unwatch/unwatch/shadow/report"
)

// transaction replays an update of several keys on scratch keys that hold its input. It has one trial for each key, which
// compares that key as if the call were an update of it alone.
type transaction struct {
	*engine
	it     *item
	trials []*trial
	parts  []*item       // of the trials
	inFn   time.Duration // spent in a pure operation
}

func (e *engine) seededSeveral(it *item) finding {
	t := &transaction{engine: e, it: it, parts: e.parts(it)}
	for i, part := range t.parts {
		t.trials = append(t.trials, e.newTrial(part, e.idOf(it)+"."+strconv.Itoa(i))) // two keys may have one scratch name
	}
	f := t.run()
	if f.class.Blocks() && it.nondeterministicSeveral(e.ctx, t.parts) {
		f.class, f.explain, f.also = report.Nondeterministic, notPure, nil
	}
	return f
}

func (t *transaction) run() finding {
	for _, trial := range t.trials {
		if err := trial.prepare(); err != nil {
			return t.at(trial, t.hidden.failure(t.it.call, err, noInput))
		}
		defer trial.remove()
	}
	keys := make([]rmw.Key, t.it.several.named)
	for i := range keys {
		keys[i] = t.trials[i].key
	}
	began := time.Now()
	res, err := t.hidden.transact(keys, t.play)
	switch c := t.it.call; {
	case errors.Is(err, errInput):
		return t.worst(func(trial *trial) finding {
			return trial.judgeInput(trial.given, "the path stored a value and gives another one to the update")
		})
	case c.refused() && err == nil:
		return c.notRefused()
	case err != nil && !(c.refused() && passesOn(err, c.err)):
		return t.hidden.failure(c, err, "an update of several keys")
	}
	t.recordLatency(t.it, time.Since(began)-t.inFn)
	return t.worst(func(trial *trial) finding {
		change := changeOf(res, trial.key.Name)
		return trial.left(rmw.Result{Before: change.Before, After: change.After, Written: change.Written})
	})
}

// worst judges each key, and returns the finding of the call: a difference, else a reason why it was not compared. The
// other keys with a difference of the same class are in finding.also.
func (t *transaction) worst(judge func(*trial) finding) finding {
	all := finding{class: report.MatchNoop}
	if t.it.written {
		all.class = report.Match
	}
	for _, trial := range t.trials {
		f := t.at(trial, judge(trial))
		switch {
		case f.class.Blocks() && !all.class.Blocks():
			all = f
		case f.class.Blocks():
			if f.class == all.class {
				all.also = append(all.also, f)
			}
		case all.class.Blocks() || all.missed != "":
		case f.missed != "" || f.class == report.EncodingOnly && all.class != report.EncodingOnly:
			all = f
		}
	}
	return all
}

// at names the key of a finding.
func (t *transaction) at(trial *trial, f finding) finding {
	f.at = trial.it.key
	return f
}

// play repeats the update, on the input that it was computed from only.
func (t *transaction) play(ctx context.Context, tx *rmw.Tx) error {
	given, other := make([]rmw.Value, len(t.trials)), false
	for i, trial := range t.trials {
		given[i] = tx.Get(trial.key)
		trial.given = driver.Untraced(given[i])
		other = other || !trial.it.op.compare.same(trial.it.old, given[i])
	}
	if other {
		return errInput
	}
	changes, err := t.result(ctx, given)
	if err != nil {
		return err
	}
	for i, trial := range t.trials {
		if !changes[i].Written {
			continue
		}
		next := driver.Untraced(changes[i].After)
		if trial.expires {
			next = next.WithTTL(seedTTL)
		}
		tx.Put(trial.key, next)
	}
	return nil
}

// result returns the changes of the call's fn, from a new run if the operation is pure.
func (t *transaction) result(ctx context.Context, given []rmw.Value) ([]rmw.Change, error) {
	switch c := t.it.call; {
	case c.several.fn != nil:
		began := time.Now()
		changes, err := c.again(ctx, given)
		t.inFn += time.Since(began)
		return changes, err
	case c.refused():
		return nil, c.err
	}
	return t.it.several.changes, nil
}
