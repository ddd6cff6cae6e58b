package cutover_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/rmw"
)

// place is a Store in memory that can fail.
type place struct {
	mu     sync.Mutex
	values map[string]rmw.Value
	err    error
	hangs  bool
	reads  int
	writes int
	// Before a write is executed.
	before func()
}

var errDown = fmt.Errorf("%w: down", rmw.ErrUnavailable)

func (p *place) Read(ctx context.Context, key rmw.Key) (rmw.Value, error) {
	p.mu.Lock()
	hangs := p.hangs
	p.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return rmw.Value{}, ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return rmw.Value{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reads++
	return p.values[key.Name], p.err
}

func (p *place) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	if p.before != nil {
		p.before()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return rmw.Result{}, p.err
	}
	next, err := fn(ctx, p.values[key.Name])
	if err != nil {
		return rmw.Result{}, err
	}
	res := rmw.Result{Before: p.values[key.Name], After: next, Written: true}
	p.writes++
	p.put(key.Name, next)
	return res, nil
}

func (p *place) put(name string, v rmw.Value) {
	if p.values == nil {
		p.values = map[string]rmw.Value{}
	}
	p.values[name] = v
}

const stageKey = "~cutover:{desk}"

// set stores a stage document.
func (p *place) set(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.put(stageKey, rmw.String(text))
}

// States of a place, besides a stage document.
const down, hangs = "down", "hangs"

// become gives the place a stage document, none (""), or one of the states.
func (p *place) become(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err, p.hangs = nil, text == hangs
	switch text {
	case hangs:
	case down:
		p.err = errDown
	case "":
		delete(p.values, stageKey)
	default:
		p.put(stageKey, rmw.String(text))
	}
}

func (p *place) document() string { return p.values[stageKey].Text() }

func (p *place) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = err
}

// side is a place, and a client that sends nothing.
func side(p *place) cutover.Side { return cutover.Side{Store: p, Redis: mute{}} }

type mute struct{}

func (mute) Process(context.Context, redis.Cmder) error { return errDown }
func (mute) Pipeline() redis.Pipeliner                  { return nil }
