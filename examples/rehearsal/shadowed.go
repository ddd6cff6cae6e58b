package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow"
	"github.com/unwatch/unwatch/shadow/report"
)

// shadowRun is a stream that the service handles on cas, with a candidate in the shadow.
type shadowRun struct {
	name      string // part of the names of keys
	candidate path
	fault     *fault  // of the candidate; may be nil
	stalls    *stalls // of the candidate; may be nil
	stream    []event
	processes int
	cfg       shadow.Config

	// Of a planted bug: its name, the comparator that must find it, and the class of the finding.
	title  string
	finder report.Comparator
	class  report.Class
}

// prefixes returns the key prefixes of both paths, which may share a server.
func (r *rehearsal) prefixes(name string) (serving, hidden string) {
	return r.stage.prefix + "e:" + name + ":old:", r.stage.prefix + "e:" + name + ":new:"
}

// shadowed plays a run in several processes, each with its own shadow. The report is of all
// processes, and nil after an interruption.
func (r *rehearsal) shadowed(ctx context.Context, s shadowRun) (x *run, rep *report.Report, err error) {
	defer r.stage.empty()
	x = &run{name: "shadow " + s.name, stream: s.stream, stalls: s.stalls}
	shadows := make([]*shadow.Store, s.processes)
	for i := range shadows {
		var p process
		p, shadows[i] = r.shadowProcess(s, i)
		x.procs = append(x.procs, p)
	}
	serving, _ := r.prefixes(s.name)
	x.after = func() (err error) {
		rep, err = compared(ctx, shadows)
		return err
	}
	err = r.play(ctx, x, r.stage.legacy, serving)
	return x, rep, err
}

// shadowProcess starts one process with the serving path, the candidate, and the shadow between
// them.
func (r *rehearsal) shadowProcess(s shadowRun, i int) (process, *shadow.Store) {
	serving, hidden := r.prefixes(s.name)
	service := onCAS(r.stage.legacy)
	rdb, other := service.on.client(&traffic{}), s.candidate.on.client(&traffic{stalls: s.stalls})
	old, candidate := service.open(rdb), s.candidate.open(other)
	next := rmw.Store(candidate)
	if s.fault != nil {
		next = fault{next, s.fault.ttl}
	}
	cfg := s.cfg
	cfg.Name, cfg.Process, cfg.Policy = "rehearsal-"+s.name, fmt.Sprintf("process-%d", i+1), rehearsalPolicy()
	cfg.Timeout = patient
	cfg.RedactSecret = []byte(r.stage.prefix) // same in all processes, new in each run
	store := shadow.New(prefixed{old, serving}, prefixed{next, hidden}, cfg)
	return process{newChat(store, "").apply, &traffic{}, func() {
		store.Kill("the rehearsal is over") // all calls are compared, or the run was interrupted
		closing(store, candidate, old, other, rdb)()
	}}, store
}

// compared waits until the shadows have compared all calls, and returns their merged report, or nil
// after an interruption.
func compared(ctx context.Context, shadows []*shadow.Store) (*report.Report, error) {
	const limit = 10 * patient
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	reports := make([]*report.Report, len(shadows))
	for i, s := range shadows {
		err := s.Drain(limited)
		if ctx.Err() != nil {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("the shadow did not come to an end: %w", err)
		}
		reports[i] = s.Report()
	}
	return shadow.Merge(reports...)
}

// fault is a store with a bug.
type fault struct {
	rmw.Store
	ttl time.Duration // the expiry that a commit sets instead of the requested one; 0: a codec drops fields that are zero
}

// Unwrap exposes the inner store to rmw.As.
func (f fault) Unwrap() rmw.Store { return f.Store }

func (f fault) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	if f.ttl != 0 {
		key.TTL = f.ttl
	}
	return f.Store.Update(ctx, key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
		next, err := fn(ctx, cur)
		switch {
		case err != nil || !next.Exists():
			return next, err
		case f.ttl != 0:
			return next.WithTTL(0), nil
		}
		return withoutZeros(next), nil
	})
}

// withoutZeros drops the fields of a document that are zero.
func withoutZeros(v rmw.Value) rmw.Value {
	var doc map[string]json.RawMessage
	if json.Unmarshal([]byte(v.Text()), &doc) != nil {
		return v // links of the free run are not documents
	}
	all := len(doc)
	maps.DeleteFunc(doc, func(_ string, field json.RawMessage) bool { return string(field) == "0" })
	text, err := json.Marshal(doc)
	if err != nil || len(doc) == all {
		return v
	}
	return rmw.Bytes(text).WithTTL(v.TTL())
}
