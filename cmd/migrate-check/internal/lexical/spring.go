package lexical

import "slices"

var springShapes = map[string]*shape{
	"template": {title: "RedisTemplate", commands: true, steps: steps(springCommands, map[string]step{
		"execute":          {yields: "connection"},
		"executePipelined": {yields: "connection"},
		"getConnectionFactory getRequiredConnectionFactory": to("factory"),
		"setEnableTransactionSupport":                       doing(transactionSupport),
		"opsForList boundListOps":                           to("list operations"),
		"opsForValue":                                       to("value operations"),
		"opsForStream":                                      to("stream operations"),
		"move":                                              sends("MOVE"),
		"restore":                                           sends("RESTORE"),
		"getClientList":                                     sends("CLIENT"), "killClient": sends("CLIENT"),
	})},
	"reactive": {title: "ReactiveRedisTemplate", commands: true, steps: steps(map[string]step{
		"convertAndSend": sends("PUBLISH"), "listenTo listenToChannel listenToLater": listens("SUBSCRIBE", ""),
		"listenToPattern": listens("PSUBSCRIBE", ""), "opsForList": to("list operations"), "opsForStream": to("stream operations"),
		"renameIfAbsent": sends("RENAMENX"), "randomKey": sends("RANDOMKEY"), "execute": {yields: "connection"},
	})},
	"connection": {title: "RedisConnection", commands: true, steps: steps(springCommands, map[string]step{
		"keyCommands stringCommands serverCommands scriptingCommands pubSubCommands streamCommands listCommands getDelegate commands": {self: true},
		"publish":                    sends("PUBLISH"),
		"subscribe":                  listens("SUBSCRIBE", ""),
		"pSubscribe":                 listens("PSUBSCRIBE", ""),
		"execute":                    byNameStep,
		"bLPop":                      sends("BLPOP"),
		"bRPop":                      sends("BRPOP"),
		"bRPopLPush":                 sends("BRPOPLPUSH"),
		"renameNX":                   sends("RENAMENX"),
		"mSetNX":                     sends("MSETNX"),
		"bitOp":                      sends("BITOP"),
		"flushDb":                    sends("FLUSHDB"),
		"flushAll":                   sends("FLUSHALL"),
		"dbSize":                     sends("DBSIZE"),
		"openPipeline closePipeline": {plain: true},
		"getNativeConnection":        {plain: true},
		"setConfig":                  doing(func(c *call) value { c.command("CONFIG"); return nothing }),
		"eval":                       {plain: true},
		"xRead xReadGroup":           doing(func(c *call) value { c.stream(fold(c.name), false); return nothing }),
	})},
	"factory": {title: "RedisConnectionFactory", steps: steps(map[string]step{
		"getConnection getReactiveConnection getClusterConnection": to("connection"),
	})},
	"container": {title: "RedisMessageListenerContainer", steps: steps(map[string]step{
		"addMessageListener receive receiveLater": listens("SUBSCRIBE", ""),
		"setMessageListeners":                     sends("SUBSCRIBE"),
	})},
	"list operations": {title: "ListOperations", steps: steps(map[string]step{
		"leftPop": doing(popped("BLPOP", 3)), "rightPop": doing(popped("BRPOP", 3)),
		"rightPopAndLeftPush": doing(popped("BRPOPLPUSH", 4)), "move": doing(popped("BLMOVE", 6)),
	})},
	"value operations":  {title: "ValueOperations", steps: steps(map[string]step{"multiSetIfAbsent": sends("MSETNX")})},
	"stream operations": {title: "StreamOperations", steps: steps(map[string]step{"read": doing(readStream)})},
	"stream container": {title: "StreamMessageListenerContainer", module: true, steps: steps(map[string]step{
		"create": to("stream container"), "receive receiveAutoAck register": ruledBy("MC302", "", "XREAD with BLOCK"),
	})},
	"events": {title: "KeyExpirationEventMessageListener", steps: map[string]step{":": ruledBy("MC203", "", "keyspace notifications")}},
}

var springCommands = map[string]step{
	"multi":          {do: begin},
	"exec":           finishes("EXEC"),
	"discard":        finishes("DISCARD"),
	"watch":          sends("WATCH"),
	"unwatch":        sends("UNWATCH"),
	"convertAndSend": sends("PUBLISH"),
	"renameIfAbsent": sends("RENAMENX"),
	"randomKey":      sends("RANDOMKEY"),
}

// transactionSupport is a matter of a finding if it is switched on.
func transactionSupport(c *call) value {
	if len(c.args) > 0 && c.args[0].value.konst && c.args[0].value.text == "true" {
		c.sent(false, "MULTI", "EXEC")
	}
	return nothing
}

// popped judges a pop that blocks if it has a time to wait.
func popped(command string, args int) func(*call) value {
	return func(c *call) value {
		if len(c.args) >= args || len(c.args) == args-1 && c.in(c.args[len(c.args)-1], "Duration") ||
			len(c.args) == args-1 && slices.Contains([]string{"TimeUnit"}, c.at(c.args[len(c.args)-1].from).text) {
			c.sent(false, command)
		}
		return nothing
	}
}

func readStream(c *call) value {
	name := "XREAD"
	if c.mentions("Consumer", "consumer", "from") && c.mentions("Consumer") {
		name = "XREADGROUP"
	}
	c.stream(name, false)
	return nothing
}

var redissonShapes = map[string]*shape{
	"redisson": {title: "Redisson", module: true, steps: steps(map[string]step{
		"create": to("redisson"),
		"getTopic getPatternTopic getShardedTopic getReliableTopic": to("topic"),
		"createTransaction": {to: "redisson transaction", do: begin},
		"createBatch":       {do: redissonBatch},
		"getBlockingQueue getBlockingDeque getBoundedBlockingQueue getPriorityBlockingQueue getPriorityBlockingDeque": to("blocking queue"),
		"getKeys":         to("keys"),
		"getScript":       to("redisson script"),
		"reactive rxJava": {self: true},
	})},
	"topic": {title: "Redisson's RTopic", steps: steps(map[string]step{
		"publish publishAsync": sends("PUBLISH"), "addListener addListenerAsync addListenerFirst": sends("SUBSCRIBE"),
		"removeListener removeAllListeners removeListenerAsync": sends("UNSUBSCRIBE"), "getMessages": sends("SUBSCRIBE"),
	})},
	"redisson transaction": {title: "Redisson's RTransaction", steps: steps(map[string]step{
		"commit commitAsync": {do: endTransaction}, "rollback rollbackAsync": {plain: true},
	})},
	"blocking queue": {title: "Redisson's RBlockingQueue", steps: steps(map[string]step{
		"take takeAsync takeFirst": sends("BLPOP"), "takeLast": sends("BRPOP"), "poll pollAsync": doing(polled),
		"pollFromAny": sends("BLPOP"), "takeLastAndOfferFirstTo pollLastAndOfferFirstTo": sends("BRPOPLPUSH"),
	})},
	"keys": {title: "Redisson's RKeys", steps: steps(map[string]step{
		"getKeys getKeysByPattern getKeysStream getKeysStreamByPattern getKeysWithLimit findKeysByPattern deleteByPattern unlinkByPattern iterator": sends("SCAN"),
		"randomKey": sends("RANDOMKEY"), "flushdb": sends("FLUSHDB"), "flushall": sends("FLUSHALL"), "count": sends("DBSIZE"),
		"rename": sends("RENAME"), "renamenx": sends("RENAMENX"), "move": sends("MOVE"),
	})},
	"redisson script": {title: "Redisson's RScript", steps: steps(map[string]step{
		"scriptLoad scriptLoadAsync scriptExists scriptFlush": sends("SCRIPT"), "evalSha evalShaAsync": sends("EVALSHA"),
	})},
}

func polled(c *call) value {
	if len(c.args) >= 2 || len(c.args) == 1 && c.in(c.args[0], "Duration") {
		c.sent(false, "BLPOP")
	}
	return nothing
}

// redissonBatch is a transaction if its options say so.
func redissonBatch(c *call) value {
	if c.mentions("REDIS_WRITE_ATOMIC", "REDIS_READ_ATOMIC", "IN_MEMORY_ATOMIC") {
		c.sent(false, "MULTI", "EXEC")
	}
	return nothing
}
