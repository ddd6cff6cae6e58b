package main

import (
	"context"
	"encoding/json"
	"maps"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// fault is a store with a bug: it changes the value or the expiry of an update.
type fault struct {
	rmw.Store
	key   func(key rmw.Key) rmw.Key
	value func(v rmw.Value) rmw.Value
}

// Unwrap exposes the inner store to rmw.As.
func (f fault) Unwrap() rmw.Store { return f.Store }

func (f fault) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	return f.Store.Update(ctx, f.key(key), func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
		next, err := fn(ctx, cur)
		if err != nil || !next.Exists() {
			return next, err
		}
		return f.value(next), nil
	})
}

// dropsZeros is a codec that drops fields with a zero value.
func dropsZeros(store rmw.Store) rmw.Store {
	return fault{store, func(key rmw.Key) rmw.Key { return key }, func(v rmw.Value) rmw.Value {
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
	}}
}

// dropsExpiry is a commit that sets this expiry instead of the requested one.
func dropsExpiry(leaves time.Duration) func(store rmw.Store) rmw.Store {
	return func(store rmw.Store) rmw.Store {
		return fault{store, func(key rmw.Key) rmw.Key {
			key.TTL = leaves
			return key
		}, func(v rmw.Value) rmw.Value { return v.WithTTL(0) }}
	}
}

// watched reports writes to the stalls. The third bug is lockOnly in a process that stalls.
type watched struct {
	rmw.Store
	stalls *stalls
	proc   int
}

// Unwrap exposes the inner store to rmw.As.
func (w watched) Unwrap() rmw.Store { return w.Store }

func (w watched) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	if key.Name == w.stalls.key {
		w.stalls.enter(w.proc)
		defer w.stalls.leave(w.proc)
	}
	res, err := w.Store.Update(ctx, key, fn)
	if err == nil && res.Written {
		w.stalls.wrote(key.Name, w.proc)
	}
	return res, err
}
