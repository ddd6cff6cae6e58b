package driver_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/driver"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/finding"
)

// ways lists the call path of each finding.
func ways(r *finding.Report) map[string]string {
	all := map[string]string{}
	for _, f := range r.Findings {
		var names []string
		for _, p := range f.Stack {
			names = append(names, p.Message)
		}
		all[f.Func] = strings.TrimSpace(f.Reach + " " + strings.Join(names, " "))
	}
	return all
}

func reached(c *driver.Config) { c.Reach = true }

const service = `
-- cmd/service/main.go --
package main

import (
	"m/go-redis/redis"
	"m/handler"
	"m/store"
	"m/web"
)

func main() { run(&redis.Client{}) }

func run(c *redis.Client) {
	h := handler.New(&store.Redis{C: c})
	web.Serve(h.Close)
	go func() { defer func() { store.Deferred(c) }() }()
	f := store.Value
	f(c)
	store.Generic(c, 1)
	store.Embedding{Redis: &store.Redis{C: c}}.Promoted()
}
-- handler/handler.go --
package handler

// Rooms is all that a handler knows of the store.
type Rooms interface{ Take(room string) error }

type Handler struct{ rooms Rooms }

func New(r Rooms) *Handler { return &Handler{r} }

func (h *Handler) Close() error { return h.rooms.Take("a") }
-- web/web.go --
package web

import "net/http"

func Serve(fn func() error) {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { fn() })
}
-- store/store.go --
package store

import "m/go-redis/redis"

type Redis struct{ C *redis.Client }

func (r *Redis) Take(room string) error { return r.take(room) }
func (r *Redis) take(room string) error { return r.C.Watch(nil, room) }
func (r *Redis) Promoted() { r.C.Publish("c", 1) }
func (r *Redis) Exported() { r.C.Publish("c", 1) }
func (r *Redis) dead() { r.C.Publish("c", 1) }

type Embedding struct{ *Redis }

func Deferred(c *redis.Client) { c.Publish("c", 1) }
func Value(c *redis.Client) { c.Publish("c", 1) }
func Generic[T any](c *redis.Client, v T) { c.Publish("c", v) }

// another is Rooms, too, but nobody makes one.
type another struct{ C *redis.Client }

func (a *another) Take(room string) error { a.C.Publish("c", 1); return nil }

type hidden struct{}

func (hidden) Served(c *redis.Client) { c.Publish("c", 1) }

var Given any = hidden{}

var client = &redis.Client{}
var cmd = client.Publish("c", 1)
-- store/store_test.go --
package store

import "testing"

func TestTake(t *testing.T) { (&Redis{}).C.Publish("c", 1) }
`

func TestReach(t *testing.T) {
	r := look(t, in(t, service), reached)
	assert.Equal(t, map[string]string{
		"(*Redis).take":     "main main.main main.run handler.(*Handler).Close store.(*Redis).Take store.(*Redis).take",
		"(*Redis).Promoted": "main main.main main.run store.(*Redis).Promoted",
		"(*Redis).Exported": "main main.main main.run store.(*Redis).Exported",
		"(*Redis).dead":     "none",
		"Deferred":          "main main.main main.run store.Deferred",
		"Value":             "main main.main main.run store.Value",
		"Generic":           "main main.main main.run store.Generic",
		"(*another).Take":   "none",
		"(hidden).Served":   "main main.init store.init store.(hidden).Served",
		"":                  "main main.init store.init",
		"TestTake":          "test",
	}, ways(r))
	assert.Equal(t, map[string]int{"main": 8, "none": 2}, r.Summary.Reach)
}

const library = `
-- kv.go --
package kv

import "m/go-redis/redis"

func Take(c *redis.Client) { take(c) }

func take(c *redis.Client) { c.Publish("c", 1) }

func Serve(c *redis.Client) { generic(c, "x") }

func Open(c *redis.Client) { generic(c, 1) }

func generic[T any](c *redis.Client, v T) { c.Publish("c", v) }

func Unused[K comparable](c *redis.Client) { c.Publish("c", 1) }
-- internal/own/own.go --
package own

import "m/go-redis/redis"

func Own(c *redis.Client) { c.Publish("c", 1) }
`

// The paths in a library start at its exported functions. Of equal paths to the instances of a generic function, each
// run takes the same one.
func TestReachOfALibrary(t *testing.T) {
	dir := in(t, library)
	for range 6 {
		assert.Equal(t, map[string]string{
			"take": "exported kv.Take kv.take", "generic": "exported kv.Open kv.generic", "Unused": "exported kv.Unused", "Own": "none",
		}, ways(look(t, dir, reached)))
	}
}

const queued = `
-- kv.go --
package kv

import (
	"container/list"

	"m/go-redis/redis"
)

type step interface{ run() }

type notify struct{ c *redis.Client }

func (n notify) run() { n.c.Publish("c", 1) }
func (n notify) walk() { n.c.Publish("c", 1) }

var steps list.List

func Notify(c *redis.Client) { steps.PushBack(step(notify{c})) }

func Work() {
	for at := steps.Front(); at != nil; at = at.Next() {
		at.Value.(step).run()
	}
}
`

// A value comes back from a package without bodies. A call of its methods counts, also of those that the package
// could not call itself.
func TestReachThroughAContainer(t *testing.T) {
	assert.Equal(t, map[string]string{
		"(notify).run": "exported kv.Notify kv.(notify).run", "(notify).walk": "none",
	}, ways(look(t, in(t, queued), reached)))
}

const dependent = `
-- go.mod --
module example.com/service

go 1.26.0

require m v0.0.0

replace m => ./lib
-- main.go --
package main

import "m/kv"

func main() { kv.Take() }
-- lib/go.mod --
module m

go 1.26.0
-- lib/go-redis/redis/redis.go --
package redis

type IntCmd struct{}
type Client struct{}

func (*Client) Publish(channel string, message any) *IntCmd { return nil }
-- lib/kv/kv.go --
package kv

import "m/go-redis/redis"

var c redis.Client

func Take() { c.Publish("c", 1) }

func Other() { c.Publish("c", 1) }
`

// -scope deps adds the reached code of dependencies, and -scope all the imported code.
func TestScope(t *testing.T) {
	dir := in(t, dependent)
	for scope, want := range map[driver.Scope]map[string]string{
		driver.Module: {},
		driver.Deps:   {"Take": "main main.main kv.Take"},
		driver.All:    {"Take": "main main.main kv.Take", "Other": "none"},
	} {
		r := look(t, dir, func(c *driver.Config) { c.Reach, c.Scope = true, scope })
		assert.Equal(t, want, ways(r), scope)
		for _, f := range r.Findings {
			assert.True(t, f.Has(finding.Dependent))
		}
	}
}
