package paths_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// trouble lists failures that the server does not cause.
func trouble() map[string]func(ctx context.Context, g guarded) {
	text, hash := rmw.Key{Name: "text"}, rmw.Key{Name: "hash", Kind: rmw.KindHash}
	to := func(v rmw.Value) rmw.UpdateFunc {
		return func(context.Context, rmw.Value) (rmw.Value, error) { return v, nil }
	}
	create := func(ctx context.Context, g guarded) {
		g.update(ctx, text, to(rmw.String(firstStored)))
		if len(g.kinds) > 1 {
			g.update(ctx, hash, to(rmw.Hash(map[string]string{fieldStored: firstStored, "n": firstStored})))
		}
	}
	return map[string]func(ctx context.Context, g guarded){
		"the key is of another kind": func(ctx context.Context, g guarded) {
			create(ctx, g)
			g.update(ctx, rmw.Key{Name: "text", Kind: rmw.KindHash}, to(rmw.Hash(map[string]string{fieldStored: thenStored})))
			g.update(ctx, rmw.Key{Name: "hash"}, to(rmw.String(thenStored)))
			g.read(ctx, rmw.Key{Name: "text", Kind: rmw.KindHash})
			g.read(ctx, rmw.Key{Name: "hash"})
		},
		"fn returns another kind": func(ctx context.Context, g guarded) {
			g.update(ctx, text, to(rmw.Hash(map[string]string{fieldStored: thenStored})))
			g.update(ctx, hash, to(rmw.String(thenStored)))
		},
		"fn returns an unusable expiry": func(ctx context.Context, g guarded) {
			g.update(ctx, text, to(rmw.String(thenStored).WithTTL(-time.Hour)))
		},
		"fn fails": func(ctx context.Context, g guarded) {
			g.update(ctx, text, func(context.Context, rmw.Value) (rmw.Value, error) {
				return rmw.String(thenStored), errors.New("no")
			})
		},
		"fn panics": func(ctx context.Context, g guarded) {
			g.update(ctx, text, func(_ context.Context, cur rmw.Value) (rmw.Value, error) { panic(cur.Text() + thenStored) })
		},
		"fn is slower than the lease": func(ctx context.Context, g guarded) {
			create(ctx, g)
			wait, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			res, err := g.store.Update(wait, text, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
				<-ctx.Done()
				return rmw.String(cur.Text() + thenStored), nil
			})
			g.spy.show(res)
			g.spy.show(err)
		},
		"others are quicker": func(ctx context.Context, g guarded) {
			create(ctx, g)
			n := 0
			g.update(ctx, text, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
				n++
				for i := range g.proxy.Backends() {
					if e := g.proxy.Engine(i); e.Exists("text") {
						_ = e.Set("text", firstStored+string(rune('a'+n)))
					}
				}
				return rmw.String(cur.Text() + thenStored), nil
			})
		},
		"what is stored does not decode": func(ctx context.Context, g guarded) {
			create(ctx, g)
			undecodable(ctx, g, rmw.JSON[map[string]int](), text)
			undecodable(ctx, g, rmw.JSON[time.Time](), text)
			undecodable(ctx, g, rmw.Text[int](), text)
			undecodable(ctx, g, rmw.Text[time.Time](), text)
			g.update(ctx, text, to(rmw.String(`{"`+fieldStored+`": "`+thenStored+`", "n": "`+firstStored+`"}`)))
			undecodable(ctx, g, rmw.JSON[map[string]int](), text)
			undecodable(ctx, g, rmw.JSON[struct{ N time.Duration }](), text)
			undecodable(ctx, g, rmw.HashOf[struct {
				N int `redis:"n"`
			}](), hash)
		},
		"the Store is closed": func(ctx context.Context, g guarded) {
			var closing sync.WaitGroup
			g.update(ctx, text, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {
				if c, ok := rmw.As[io.Closer](g.store); ok {
					closing.Go(func() { _ = c.Close() })
				}
				return rmw.String(thenStored), nil
			})
			g.life(ctx)
			closing.Wait()
		},
	}
}

// undecodable reads and edits a key through the wrong codec.
func undecodable[T any](ctx context.Context, g guarded, codec rmw.Codec[T], key rmw.Key) {
	typed := rmw.NewTyped(g.store, codec)
	v, _, err := typed.Get(ctx, key)
	g.spy.show(v)
	g.spy.show(err)
	v, res, err := typed.Edit(ctx, key, func(context.Context, *T, bool) error { return nil })
	g.spy.show(v)
	g.spy.show(res)
	g.spy.show(err)
}
