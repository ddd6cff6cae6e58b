package rediscalls

import (
	"go/types"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLibraryOf(t *testing.T) {
	for path, want := range map[string]Library{
		"github.com/go-redis/redis":                               {GoRedis, 6},
		"github.com/go-redis/redis/v7":                            {GoRedis, 7},
		"github.com/redis/go-redis/v9":                            {GoRedis, 9},
		"gopkg.in/redis.v5":                                       {GoRedis, 5},
		"example.com/fork/go-redis/v9":                            {GoRedis, 9},
		"example.com/service/vendor/github.com/go-redis/redis/v8": {GoRedis, 8},
		"github.com/gomodule/redigo/redis":                        {Redigo, 1},
		"github.com/garyburd/redigo/redis":                        {Redigo, 1},
		"github.com/redis/rueidis/internal/cmds":                  {Rueidis, 1},
		"github.com/valkey-io/valkey-go/internal/cmds":            {Rueidis, 1},
		"github.com/gogf/gf/g/database/gredis":                    {Gredis, 1},
		"github.com/chasex/redis-go-cluster":                      {Redigo, 1},
		"gopkg.in/go-redis/redis.v6":                              {GoRedis, 6},
		"github.com/fzzy/radix/redis":                             {Radix, 1},
		"github.com/mediocregopher/radix.v2/util":                 {Radix, 2},
		"github.com/mediocregopher/radix.v2/redis":                {Radix, 2},
		"github.com/mediocregopher/radix/v3":                      {Radix, 3},
		"github.com/mediocregopher/radix/v4":                      {Radix, 4},
	} {
		got, ok := LibraryOf(types.NewPackage(path, "redis"))
		assert.True(t, ok, path)
		assert.Equal(t, want, got, path)
	}
	for _, path := range []string{
		"github.com/fsnotify/fsnotify", "go.etcd.io/etcd/client/v3", "k8s.io/client-go/tools/watch", "github.com/spf13/viper",
		"database/sql", "example.com/my-go-redis-tools/v2", "example.com/redis", "github.com/armon/go-radix",
	} {
		_, ok := LibraryOf(types.NewPackage(path, "redis"))
		assert.False(t, ok, path)
	}
	fork := types.NewPackage("example.com/our/redis", "redis")
	for _, name := range []string{"Tx", "Pipeliner", "StatusCmd", "UniversalClient"} {
		_, ok := LibraryOf(fork)
		assert.False(t, ok, name)
		fork.Scope().Insert(types.NewTypeName(0, fork, name, types.Typ[types.Int]))
	}
	got, ok := LibraryOf(fork)
	assert.True(t, ok)
	assert.Equal(t, Library{GoRedis, 7}, got)
}
