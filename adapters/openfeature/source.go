package openfeature

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	of "github.com/open-feature/go-sdk/openfeature"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/internal/redisx"
	"github.com/unwatch/unwatch/rmw"
)

// Source is a [cutover.Source]. It evaluates its flag about once a second, so a process sees a new
// value within two seconds. It is safe for concurrent use.
//
//   - If the flag cannot be evaluated, or its value is no stage, the stage in force stays, and Err
//     tells why.
//   - Before the first value, the stage is Follow, which moves no key. A disabled flag is Follow, too.
type Source struct{ state atomic.Pointer[state] }

// state is the result of all evaluations until now.
type state struct {
	stage   cutover.Stage
	invalid error // the Source has no client or flag
	trouble error // of the last evaluation
}

// interval is between two evaluations, give or take a fifth. It bounds each evaluation, too.
const interval = time.Second

// New starts a Source, and waits up to a second for the first evaluation. When ctx ends, its goroutine
// does, too, as soon as the provider returns; the stage in force stays. With a nil client or an empty flag,
// Stage and Err return an [rmw.ErrInvalid].
func New(ctx context.Context, client of.IClient, flag string) *Source {
	s := &Source{}
	if redisx.IsNil(client) || flag == "" {
		invalid := fmt.Errorf("%w: openfeature.New needs a client and the name of a flag", rmw.ErrInvalid)
		s.state.Store(&state{invalid: invalid, trouble: invalid})
		return s
	}
	s.state.Store(&state{trouble: errors.New("the provider has not answered yet")})
	first := make(chan struct{})
	go func() {
		s.evaluate(ctx, client, flag)
		close(first)
		for redisx.Sleep(ctx, time.Duration(float64(interval)*(0.8+0.4*rand.Float64()))) == nil {
			s.evaluate(ctx, client, flag)
		}
	}()
	select {
	case <-first:
	case <-ctx.Done():
	case <-time.After(interval):
	}
	return s
}

// Stage implements [cutover.Source]. It answers from memory.
func (s *Source) Stage(context.Context) (cutover.Stage, error) {
	now := s.state.Load()
	return now.stage, now.invalid
}

// Err returns why the last evaluation has given no stage, or nil. Calls continue at the stage in force.
func (s *Source) Err() error { return s.state.Load().trouble }

func (s *Source) evaluate(ctx context.Context, client of.IClient, flag string) {
	next := *s.state.Load()
	stage, err := value(ctx, client, flag)
	if next.trouble = err; err == nil {
		next.stage = stage
	}
	if ctx.Err() == nil {
		s.state.Store(&next)
	}
}

// value returns the stage that the flag has now. The flag has the same targeting key in every process, so
// that a percentage rule in the flag system gives all processes the same value.
func value(ctx context.Context, client of.IClient, flag string) (stage cutover.Stage, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the provider of the flag %q panicked: %v", flag, p)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, interval)
	defer cancel()
	disabled := map[string]any{"stage": cutover.Follow.String()}
	object, err := client.ObjectValue(ctx, flag, disabled, of.NewEvaluationContext(flag, nil))
	if err == nil {
		stage, err = decode(object)
	}
	if err != nil {
		err = fmt.Errorf("the flag %q: %w", flag, err)
	}
	return stage, err
}

// decode returns the stage of an object. It refuses members that it does not know: misspelled, they
// would have no effect. One of them is the epoch, which counts published stages only.
func decode(object any) (cutover.Stage, error) {
	var wish struct {
		Stage   *cutover.Phase
		Percent int
		Labels  []string
		Freeze  bool
	}
	text, err := json.Marshal(object)
	if err != nil {
		return cutover.Stage{}, fmt.Errorf("%w: %w", rmw.ErrInvalid, err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	switch err := decoder.Decode(&wish); {
	case err != nil:
		return cutover.Stage{}, fmt.Errorf("%w: %w", rmw.ErrInvalid, err)
	case wish.Stage == nil:
		return cutover.Stage{}, fmt.Errorf(`%w: the object has no member "stage"`, rmw.ErrInvalid)
	case *wish.Stage == cutover.Complete:
		return cutover.Stage{}, fmt.Errorf("%w: no flag completes a cut-over; use cutover.FromKey and cutover.Publish", rmw.ErrInvalid)
	}
	stage := cutover.Stage{Phase: *wish.Stage, Percent: wish.Percent, Labels: wish.Labels, Freeze: wish.Freeze}
	return stage, stage.Validate()
}
