package cas_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/cas"
	"github.com/unwatch/unwatch/internal/contract"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
	"github.com/unwatch/unwatch/rmw"
)

func TestContract(t *testing.T) {
	contract.Bench{
		Proxy: proxytest.Config{Profile: proxycompat.Redis(), InMemory: true},
		Open:  func(rdb *redis.Client) rmw.Store { return cas.New(rdb, cas.Config{}) },
	}.RunFake(t)
}
