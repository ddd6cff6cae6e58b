package lexical

import "strings"

var rubyDialect = dialect{lang: Ruby, self: "self", imports: rubyImport, classes: classes(
	[]string{""}, map[string]string{"Redis": "redis", "RedisClient": "redis client", "Sidekiq Resque": "jobs", "ConnectionPool": "pool"},
), shapes: map[string]*shape{
	"redis": {title: "redis-rb's Redis", commands: true, steps: steps(rubyClient, map[string]step{
		"Namespace Distributed Store": classOf("redis"), "Cluster": classOf("cluster"), "current connect": to("redis"),
		"Subscription Client Connection Pipeline Future Lock Semaphore Objects":                      {plain: true},
		"CannotConnectError BaseError CommandError TimeoutError ConnectionError BaseConnectionError": {plain: true},
	})},
	"cluster": {title: "redis-rb's Cluster", commands: true, steps: steps(rubyClient, map[string]step{"()": ruledBy("MC601",
		"cluster", "a cluster client")})},
	"redis client": {title: "RedisClient", steps: steps(map[string]step{
		"config new_pool new_client": {self: true}, "call call_v call_once blocking_call blocking_call_v": byNameStep,
		"multi":     transaction("transaction"),
		"pipelined": {yields: "pipe"}, "pubsub": to("pubsub"), "scan": sends("SCAN"), "with": {self: true, yields: "redis client"},
	})},
	"pubsub": {title: "RedisClient's PubSub", steps: steps(map[string]step{"call call_v": byNameStep})},
	"jobs": {title: "Sidekiq", module: true, steps: steps(map[string]step{"redis redis_pool": {to: "redis", yields: "redis"},
		"with": {yields: "redis"}})},
	"pool": {title: "the pool", module: true, steps: steps(map[string]step{"with": {yields: "redis"}, "()": {plain: true}})},
	"transaction": {title: "the transaction", commands: true, keeps: true, steps: steps(map[string]step{
		"exec discard": {do: endTransaction}, "multi": {do: begin, self: true, yields: "transaction"}, "call": byNameStep,
		"pipelined": {self: true, yields: "transaction"},
	})},
	"pipe": {title: "the pipeline", commands: true, keeps: true, steps: steps(map[string]step{
		"multi": transaction("transaction"), "call": byNameStep, "pipelined": {self: true, yields: "pipe"},
	})},
}}

var rubyClient = map[string]step{
	"multi":                              transaction("transaction"),
	"pipelined pipeline":                 {yields: "pipe"},
	"exec":                               finishes("EXEC"),
	"discard":                            finishes("DISCARD"),
	"call call_v":                        byNameStep,
	"synchronize":                        {yields: "redis"},
	"with":                               {yields: "redis", self: true},
	"redis dup _client then":             {self: true},
	"namespace":                          {plain: true},
	"subscribe subscribe_with_timeout":   listens("SUBSCRIBE", ""),
	"psubscribe psubscribe_with_timeout": listens("PSUBSCRIBE", ""),
	"subscribed?":                        {plain: true},
	"script":                             sends("SCRIPT"),
	"config":                             {do: func(c *call) value { c.command("CONFIG"); return nothing }},
	"client":                             {do: rubyClientCommand},
	"time":                               {do: noArgs("TIME")},
	"object":                             sends("OBJECT"),
	"select":                             doing(selected),
	"xread xreadgroup":                   doing(func(c *call) value { c.stream(fold(c.name), false); return nothing }),
	"watch":                              {commands: []string{"WATCH"}, yields: "redis"},
	"id connection connected? close quit disconnect!": {plain: true},
	"eval":  {plain: true},
	"save":  {do: noArgs("SAVE")},
	"debug": {plain: true},
}

// rubyClientCommand is CLIENT if it has arguments, and else the connection.
func rubyClientCommand(c *call) value {
	if len(c.args) > 0 {
		c.sent(false, "CLIENT")
	}
	return nothing
}

func rubyImport(w *walker, path string) (string, bool) {
	switch first, _, _ := strings.Cut(path, "/"); first {
	case "redis", "redis-namespace", "hiredis", "redis-client", "fakeredis", "mock_redis", "sidekiq", "resque", "redis-rb":
		w.guessing("redis")
		return "", true
	}
	return "", false
}

// rubyUses reports whether the file uses a client although it requires none, as the programs
// of Rails do.
func rubyUses(t *tokens) bool {
	for i := range t.all {
		if tok := t.all[i]; tok.kind == word {
			switch tok.text {
			case "Redis", "RedisClient", "$redis", "REDIS", "@redis", "redis", "redis_pool", "with_redis":
				return true
			}
		}
	}
	return false
}
