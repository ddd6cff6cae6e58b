package lexical

import (
	"maps"
	"strings"
)

const (
	jedisPackage    = "redis.clients."
	springPackage   = "org.springframework.data.redis."
	redissonPackage = "org.redisson."
)

// lettucePackages are those of before and after it moved.
var lettucePackages = []string{"io.lettuce.core.", "com.lambdaworks.redis."}

var javaDialect = dialect{lang: Java, self: "this", imports: javaImport, classes: javaClasses, shapes: javaShapes}

var kotlinDialect = dialect{lang: Kotlin, self: "this", imports: javaImport, classes: javaClasses, shapes: javaShapes}

func javaImport(w *walker, path string) (string, bool) {
	switch {
	case strings.HasPrefix(path, jedisPackage):
		w.guessing("jedis")
	case strings.HasPrefix(path, springPackage):
		w.guessing("template")
	case prefixed(path, lettucePackages):
		w.guessing("lettuce")
	default:
		return "", false
	}
	return "", true
}

var javaClasses = classes(
	[]string{jedisPackage}, map[string]string{
		"Jedis BinaryJedis UnifiedJedis JedisPooled JedisCommands ShardedJedis BinaryJedisCommands MultiKeyCommands RedisClient": "jedis",
		"JedisPool ShardedJedisPool Pool":                                                  "jedis pool",
		"JedisSentinelPool JedisSentineled":                                                "jedis sentinel",
		"JedisCluster BinaryJedisCluster":                                                  "jedis cluster",
		"Pipeline ShardedJedisPipeline PipelineBase AbstractPipeline MultiKeyPipelineBase": "jedis pipeline",
		"Transaction AbstractTransaction TransactionBase ReliableTransaction":              "jedis transaction",
		"JedisPubSub BinaryJedisPubSub":                                                    "jedis pubsub",
	},
	lettucePackages, map[string]string{
		"RedisClient RedisClusterClient AbstractRedisClient":                                                             "lettuce client",
		"StatefulRedisConnection StatefulConnection StatefulRedisMasterReplicaConnection StatefulRedisClusterConnection": "lettuce connection",
		"StatefulRedisPubSubConnection StatefulRedisClusterPubSubConnection":                                             "lettuce pubsub",
		"RedisCommands RedisAsyncCommands RedisReactiveCommands RedisClusterCommands RedisAdvancedClusterCommands RedisKeyCommands RedisClusterAsyncCommands RedisTransactionalCommands RedisTransactionalAsyncCommands RedisTransactionalReactiveCommands RedisCoroutinesCommands": "lettuce",
		"RedisPubSubCommands RedisPubSubAsyncCommands RedisPubSubReactiveCommands": "lettuce",
	},
	[]string{springPackage}, map[string]string{
		"RedisTemplate StringRedisTemplate RedisOperations":                         "template",
		"ReactiveRedisTemplate ReactiveStringRedisTemplate ReactiveRedisOperations": "reactive",
		"RedisConnection StringRedisConnection DefaultStringRedisConnection ReactiveRedisConnection RedisKeyCommands RedisTxCommands RedisPubSubCommands ReactiveKeyCommands": "connection",
		"RedisConnectionFactory LettuceConnectionFactory JedisConnectionFactory ReactiveRedisConnectionFactory":                                                               "factory",
		"RedisMessageListenerContainer ReactiveRedisMessageListenerContainer":                                                                                                 "container",
		"ListOperations BoundListOperations ReactiveListOperations":                                                                                                           "list operations",
		"ValueOperations ReactiveValueOperations":                                                                                                                             "value operations",
		"StreamOperations ReactiveStreamOperations":                                                                                                                           "stream operations",
		"StreamMessageListenerContainer StreamReceiver":                                                                                                                       "stream container",
		"KeyExpirationEventMessageListener KeyspaceEventMessageListener":                                                                                                      "events",
	},
	[]string{redissonPackage}, map[string]string{
		"RedissonClient Redisson RedissonReactiveClient RedissonRxClient":                        "redisson",
		"RTopic RPatternTopic RReliableTopic RShardedTopic RTopicReactive RPatternTopicReactive": "topic",
		"RTransaction": "redisson transaction",
		"RBlockingQueue RBlockingDeque RBoundedBlockingQueue RPriorityBlockingQueue RDelayedQueue": "blocking queue",
		"RKeys":   "keys",
		"RScript": "redisson script",
	},
)

// classes makes a table of pairs: what the packages begin with, and the names in them.
func classes(pairs ...any) map[string]class {
	all := map[string]class{}
	for i := 0; i+1 < len(pairs); i += 2 {
		from := pairs[i].([]string)
		for names, shape := range pairs[i+1].(map[string]string) {
			for name := range strings.SplitSeq(names, " ") {
				c := class{shape: shape, from: from}
				if old, ok := all[name]; ok {
					c.next = &old
				}
				all[name] = c
			}
		}
	}
	return all
}

var javaShapes = merge(jedisShapes, lettuceShapes, springShapes, redissonShapes)

func merge(all ...map[string]*shape) map[string]*shape {
	m := map[string]*shape{}
	for _, some := range all {
		maps.Copy(m, some)
	}
	return m
}

var jedisShapes = map[string]*shape{
	"jedis": {title: "Jedis", commands: true, steps: steps(map[string]step{
		"multi transaction": transaction("jedis transaction"),
		"pipelined":         to("jedis pipeline"),
		"exec":              finishes("EXEC"),
		"discard":           finishes("DISCARD"),
		"sendCommand executeCommand sendBlockingCommand": byNameStep,
		"xread xreadGroup xreadAsMap xreadGroupAsMap":    doing(func(c *call) value { c.stream(fold(c.name), false); return nothing }),
		"select":     doing(selected),
		"subscribe":  listens("SUBSCRIBE", ""),
		"psubscribe": listens("PSUBSCRIBE", ""),
		"time":       {do: noArgs("TIME")},
		"getClient getConnection getJedis getResource": {self: true},
		"move":       sends("MOVE"),
		"wait":       {plain: true},
		"configSet":  doing(func(c *call) value { c.command("CONFIG"); return nothing }),
		"eval":       doing(javaEval),
		"scriptLoad": sends("SCRIPT"),
		"save":       {do: noArgs("SAVE")},
	})},
	"jedis pool": {title: "JedisPool", steps: steps(map[string]step{"getResource": to("jedis"), "borrowObject": to("jedis")})},
	"jedis sentinel": {title: "JedisSentinelPool", steps: steps(map[string]step{
		"()": ruledBy("MC601", "jedis sentinel", "a Sentinel"), "getResource": to("jedis"),
	})},
	"jedis cluster": {title: "JedisCluster", commands: true, steps: steps(map[string]step{
		"()": ruledBy("MC601", "jedis cluster", "a cluster client"), "multi": transaction("jedis transaction"),
		"sendCommand": byNameStep, "pipelined": to("jedis pipeline"), "eval": doing(javaEval),
	})},
	"jedis pipeline": {title: "Jedis' Pipeline", commands: true, steps: steps(map[string]step{
		"multi": {do: begin}, "exec": finishes("EXEC"), "discard": finishes("DISCARD"), "sendCommand": byNameStep,
	})},
	"jedis transaction": {title: "Jedis' Transaction", commands: true, steps: steps(map[string]step{
		"()": {do: begin, to: "jedis transaction"}, "multi": {do: begin}, "exec execGetResponse": {do: endTransaction},
		"discard":     {do: endTransaction},
		"sendCommand": byNameStep, "close clear": {plain: true},
	})},
	"jedis pubsub": {title: "JedisPubSub", commands: true},
}

func javaEval(c *call) value {
	if len(c.args) > 1 && c.args[1].value.konst && c.at(c.args[1].from).kind == num {
		c.keys(c.args[1].value.text)
	}
	return nothing
}

// endTransaction is a part of the transaction that it ends.
func endTransaction(c *call) value {
	if c.recv.origin > 0 {
		c.relate(c.recv.origin, c.pos, strings.ToUpper(c.name))
	} else if c.last > 0 {
		c.relate(c.last, c.pos, strings.ToUpper(c.name))
	}
	return nothing
}

var lettuceShapes = map[string]*shape{
	"lettuce client": {title: "Lettuce's RedisClient", module: true, steps: steps(map[string]step{
		"create": to("lettuce client"), "connect connectAsync connectToNode": to("lettuce connection"),
		"connectPubSub connectPubSubAsync": to("lettuce pubsub"),
	})},
	"lettuce connection": {title: "Lettuce's connection", steps: steps(map[string]step{
		"sync async reactive coroutines": to("lettuce"), "dispatch": byNameStep, "toCompletableFuture": {self: true},
	})},
	"lettuce pubsub": {title: "Lettuce's connection", steps: steps(map[string]step{
		"sync async reactive": to("lettuce"), "addListener": {plain: true},
	})},
	"lettuce": {title: "Lettuce's commands", commands: true, steps: steps(map[string]step{
		"multi": {do: begin}, "exec": finishes("EXEC"), "discard": finishes("DISCARD"), "dispatch": byNameStep,
		"xread xreadgroup": doing(func(c *call) value { c.stream(fold(c.name), false); return nothing }),
		"subscribe":        listens("SUBSCRIBE", ""), "psubscribe": listens("PSUBSCRIBE", ""),
		"getStatefulConnection": to("lettuce connection"),
		"configSet":             doing(func(c *call) value { c.command("CONFIG"); return nothing }),
		"select":                doing(selected), "time": {do: noArgs("TIME")},
	})},
}
