package cutover

import (
	"context"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// Beside returns a Store over store that keeps each key under another name: "~copy:" before its own. It
// is for the candidate of a shadow that runs before a cut-over, since a mirrored write that arrives
// late must not reach a key that has moved:
//
//	shadow.New(serving, cutover.Beside(candidate), shadow.Config{})
//
// It is an [rmw.Peeker] if store is one. Errors name the key as it is stored.
func Beside(store rmw.Store) rmw.Store {
	b := beside{store}
	if p, ok := rmw.As[rmw.Peeker](store); ok {
		return besidePeeker{b, p}
	}
	return b
}

const besidePrefix = "~copy:"

func besideOf(key rmw.Key) rmw.Key {
	key.Name = besidePrefix + key.Name
	return key
}

type beside struct{ store rmw.Store }

func (b beside) Read(ctx context.Context, key rmw.Key) (rmw.Value, error) {
	return b.store.Read(ctx, besideOf(key))
}

func (b beside) Update(ctx context.Context, key rmw.Key, fn rmw.UpdateFunc) (rmw.Result, error) {
	return b.store.Update(ctx, besideOf(key), fn)
}

type besidePeeker struct {
	beside
	peeker rmw.Peeker
}

func (b besidePeeker) Peek(ctx context.Context, key rmw.Key) (rmw.Value, time.Duration, error) {
	return b.peeker.Peek(ctx, besideOf(key))
}
