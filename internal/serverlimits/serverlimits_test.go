package serverlimits_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/internal/serverlimits"
)

func TestOf(t *testing.T) {
	const (
		v3, v7   = "redis_version:3.2.11\r\n", "redis_version:7.0.15\r\n"
		replicas = "# Replication\r\nmin_slaves_good_slaves:1\r\n"
	)
	for info, want := range map[string][]string{
		"":                                     nil,
		v7:                                     nil,
		v7 + "maxmemory_policy:noeviction\r\n": nil,
		v7 + "maxmemory_policy:allkeys-lfu":    {`maxmemory-policy "allkeys-lfu" evicts values, locks and markers`},
		v7 + "maxmemory_policy:volatile-ttl":   {`maxmemory-policy "volatile-ttl" evicts locks and values with an expiry`},
		v3 + "maxmemory_policy:volatile-lru\r\n" + replicas: {
			`maxmemory-policy "volatile-lru"`, "min-replicas-to-write does not hold for scripts before Redis 6.0.17",
		},
		"redis_version:6.0.16\r\n" + replicas: {"min-replicas-to-write"},
		"redis_version:6.2.6\r\n" + replicas:  {"min-replicas-to-write"},
		"redis_version:6.0.17\r\n" + replicas: nil,
		"redis_version:6.2.7\r\n" + replicas:  nil,
		v7 + replicas:                         nil,
		replicas:                              {"min-replicas-to-write"}, // a server that does not tell its version
	} {
		got := serverlimits.Of(info)
		if assert.Len(t, got, len(want), info) {
			for i, text := range want {
				assert.Contains(t, got[i], text)
			}
		}
	}
}
