package driver_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/driver"
	"github.com/unwatch/unwatch/cmd/migrate-check/internal/load"
)

// Tests are loaded last, with the facts and the bodies of the helpers that they call.
func TestTestsSeeHelpers(t *testing.T) {
	dir := in(t, `
-- own/own.go --
package own

import (
	"fmt"

	"m/go-redis/redis"
	"m/other"
)

var rdb = &redis.Client{}

func init() { fmt.Sprint(other.Use) }

func helper(fn func(*redis.Tx) error) error { return rdb.Watch(fn, "k") }

type list[T any] struct{ all []T }

func (l *list[T]) add(v T) { l.all = append(l.all, v); rdb.Publish("c", v) }

func main() { fmt.Sprint(generic(1)) }

func generic[T any](v T) T { return v }
-- own/own_test.go --
package own

import "m/go-redis/redis"

func Test() {
	_ = helper(func(*redis.Tx) error { return nil })
	rdb.TxPipeline().Exec()
	new(list[int]).add(generic(1))
}

func TestX() {} // for the tests outside
-- own/outer_test.go --
package own_test

import (
	"m/go-redis/redis"
	"m/own"
)

func Test() {
	own.TestX()
	new(redis.Client).Publish("c", 1)
}
-- redigo/redis/redis.go --
package redis

type Conn interface{ Do(name string, args ...any) (any, error) }
-- sends/sends.go --
package sends

import "m/redigo/redis"

func do(c redis.Conn, name string) { c.Do(name, "k") }
-- sends/sends_test.go --
package sends

import "m/redigo/redis"

func Test(c redis.Conn) {
	do(c, "GET")
	do(c, "WATCH") // known by the body of do
}
-- onlytests/only_test.go --
package onlytests

import "m/go-redis/redis"

func Test() { new(redis.Client).TxPipeline() }
-- plain/plain.go --
package plain

func Add(a, b int) int { return a + b }
-- plain/plain_test.go --
package plain

import "m/go-redis/redis"

func Test() { new(redis.Client).Publish("c", Add(1, 2)) }
-- broken/broken.go --
package broken

import "m/go-redis/redis"

func Take() { new(redis.Client).Publish("c", 1) }
-- broken/broken_test.go --
package broken

import "m/missing"

func Test() { missing.Take(); Take() }
-- other/other.go --
package other

func Use() {}
`)
	for _, reach := range []bool{false, true} {
		r := look(t, dir, func(c *driver.Config) { c.Reach = reach })
		assert.Equal(t, []string{
			"broken/broken.go:5 MC202 Take",
			"onlytests/only_test.go:5 MC102 Test [test] uncounted",
			"own/outer_test.go:10 MC202 Test [test] uncounted",
			"own/own.go:14 MC101 helper",
			"own/own.go:18 MC202 (*list[T]).add",
			"own/own_test.go:7 MC102 Test [test] uncounted",
			"plain/plain_test.go:5 MC202 Test [test] uncounted",
			"sends/sends_test.go:7 MC103 Test [test] uncounted",
		}, lines(r), "reach %v", reach)
		if assert.Len(t, r.Summary.Unseen, 1) {
			assert.Equal(t, "m/broken", r.Summary.Unseen[0].Path)
			assert.Contains(t, r.Summary.Unseen[0].Reason, "missing")
		}
		for _, f := range r.Findings {
			if reach && f.Uncounted {
				assert.Equal(t, "test", f.Reach, f.Path)
			}
		}
	}
}

// The tests of a dependency are not compiled, while its helpers are type-checked.
func TestTestsOfDependenciesAreNotLoaded(t *testing.T) {
	dir := in(t, `
-- go.mod --
module m

go 1.26.0

require example.com/dep v0.0.0

replace example.com/dep => ./dep
-- own.go --
package m

import "example.com/dep"

func Take() error { return dep.Watch() }
-- own_test.go --
package m

func Test() { _ = Take() }
-- dep/go.mod --
module example.com/dep

go 1.26.0
-- dep/go-redis/redis/redis.go --
package redis

type Client struct{}

func (*Client) Watch(fn func() error, keys ...string) error { return nil }
-- dep/dep.go --
package dep

import "example.com/dep/go-redis/redis"

func Watch() error { return new(redis.Client).Watch(nil, "k") }
-- dep/dep_test.go --
package dep

func Test() { _ = Watch() }
`)
	p, err := load.Load(t.Context(), load.Config{Dir: dir, Patterns: []string{"."}, Tests: true})
	require.NoError(t, err)
	ids := func(p *load.Program) (all []string) {
		for _, pkg := range p.Packages {
			all = append(all, pkg.ID)
		}
		return all
	}
	assert.Equal(t, []string{"m", "example.com/dep"}, ids(p))
	p, err = p.Later.Tests(load.Bodies{})
	require.NoError(t, err)
	assert.Equal(t, []string{"m", "m [m.test]"}, ids(p))
}
