// Package traps has code that looks as if it could be rewritten, and would then do
// something else, or not compile.
package traps

import (
	"context"

	"github.com/redis/go-redis/v9"
	"github.com/unwatch/unwatch/rmw"
)

type service struct {
	rdb   *redis.Client
	store rmw.Store
	deps  struct{ old, other *redis.Client }
	doc   *doc
	name  string
	list  []string
	seen  map[string]bool
	order func(a, b string) int
}

type doc struct {
	N    int
	Seen map[string]bool
	Raw  []byte
}

func describe(err error) string {
	if err == nil {
		return "fine"
	}
	return err.Error()
}

func (s *service) field() string { return s.name }

func (s *service) rename() { s.name += "x" }

var seen int

func use(ctx context.Context) {}
