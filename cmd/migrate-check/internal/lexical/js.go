package lexical

import (
	"regexp"
	"strings"
)

var jsDialect = dialect{lang: JS, self: "this", imports: jsImport, classes: map[string]class{}, shapes: map[string]*shape{
	"ioredis": {title: "ioredis", module: true, steps: steps(map[string]step{
		"()":                          to("client"),
		"default Redis":               classOf("ioredis class"),
		"Cluster":                     classOf("cluster"),
		"createClient":                to("client"),
		"Pipeline ChainableCommander": classOf("tx"),
		"RedisCommander Commander":    classOf("client"),
		"Command":                     classOf("command"),
		"promises":                    {self: true},
	})},
	"ioredis class": {title: "ioredis' Redis", commands: true, steps: steps(jsClient, map[string]step{
		"()": to("client"), "Cluster": classOf("cluster"), "Redis default": classOf("ioredis class"),
		"createClient": to("client"), "Command": classOf("command"),
		"Pipeline ChainableCommander": classOf("tx"),
	})},
	"module": {title: "node-redis", module: true, steps: steps(map[string]step{
		"createClient":                  to("node"),
		"createCluster":                 ruledBy("MC601", "node", "a cluster client"),
		"createSentinel":                ruledBy("MC601", "node", "a Sentinel"),
		"createClientPool":              to("node"),
		"default promisifyAll promises": {self: true},
		"RedisClient RedisClientType RedisClusterType": classOf("node"),
		"RedisClientMultiCommandType Multi":            classOf("tx"),
		"getClient":                                    to("node"),
		"commandOptions":                               {plain: true},
	})},
	"client": {title: "ioredis' Redis", commands: true, steps: steps(jsClient)},
	"node":   {title: "node-redis' client", commands: true, steps: steps(jsClient)},
	"cluster": {title: "ioredis' Cluster", commands: true, steps: steps(jsClient, map[string]step{"()": ruledBy("MC601",
		"cluster", "a cluster client")})},
	"pipe": {title: "ioredis' Pipeline", commands: true, keeps: true, steps: steps(map[string]step{
		"multi": {do: begin, self: true}, "exec execBuffer execAsPipeline": {do: endPipe}, "watch": {commands: []string{"WATCH"},
			self: true},
		"call": byNameStep, "eval": {self: true}, "move": {self: true},
	})},
	"tx": {title: "the transaction", commands: true, keeps: true, steps: steps(map[string]step{
		"multi": {do: begin, self: true}, "exec execBuffer EXEC execAsync execTyped exec_atomic": {do: endPipe},
		"discard": {do: endPipe}, "call addCommand": byNameStep, "eval": {self: true},
		"execAsPipeline": {plain: true},
	})},
	"command": {title: "ioredis' Command", steps: map[string]step{"()": byNameStep}},

	"bull": {title: "bull", module: true, steps: steps(map[string]step{"()": ruledBy("MC102", "queue", "MULTI", "EXEC"),
		"default Queue Bull": classOf("queue")})},
	"bullmq": {title: "bullmq", module: true, steps: steps(map[string]step{"Queue FlowProducer QueuePro": classOf("queue"),
		"Worker QueueEvents WorkerPro": classOf("worker")})},
	"queue":  {title: "the queue", steps: map[string]step{"()": ruledBy("MC102", "queue", "MULTI", "EXEC")}},
	"worker": {title: "bullmq's worker", steps: map[string]step{"()": ruledBy("MC302", "worker", "BZPOPMIN or XREAD")}},

	"adapters": {title: "the adapter", module: true, steps: steps(map[string]step{
		"()": ruledBy("MC201", "", "SUBSCRIBE"), "createAdapter": ruledBy("MC201", "", "SUBSCRIBE"),
		"RedisPubSub": classOf("pubsub"), "default": {self: true},
	})},
	"pubsub": {title: "RedisPubSub", steps: map[string]step{"()": ruledBy("MC201", "", "SUBSCRIBE")}},
}}

var jsClient = map[string]step{
	"multi MULTI multiAsync": transaction("tx"),
	"pipeline":               to("pipe"),
	"batch":                  to("pipe"),
	"duplicate v4 legacy withTypeMapping withCommandOptions legacyMode asap promises": {self: true},
	"executeIsolated": {yields: "node"},
	"use":             {yields: "node"},
	"call callBuffer": byNameStep,
	"sendCommand send_command SEND_COMMAND send_commandAsync internal_send_command": doing(jsSend),
	"connect": {self: true},
	"createClient getClient createConnection getConnection getInstance pubsubClient": {self: true},
	"defineCommand":                                                  doing(defined),
	"eval EVAL evalBuffer":                                           doing(jsEval),
	"subscribe SUBSCRIBE subscribeAsync":                             listens("SUBSCRIBE", ""),
	"psubscribe pSubscribe pSubscribeAsync PSUBSCRIBE":               listens("PSUBSCRIBE", ""),
	"on once off addListener emit removeListener removeAllListeners": {self: true},
	"xread xRead xReadGroup xreadgroup XREAD XREADGROUP": doing(func(c *call) value {
		c.stream(fold(c.name),
			false)
		return nothing
	}),
	"wait":          doing(func(c *call) value { c.sent(false, "WAIT"); return nothing }),
	"script SCRIPT": doing(func(c *call) value { c.sent(false, "SCRIPT"); return nothing }),
	"config CONFIG configSet CONFIG_SET config_set": doing(func(c *call) value { c.command("CONFIG"); return nothing }),
	"client": doing(jsClientCommand),
	"nodes":  {plain: true},
	"debug":  {plain: true},
	"select": doing(selected),
	"getBuiltinCommands createBuiltinCommand addBuiltinCommand": {plain: true},
	"ACL": {plain: true},
}

// jsClientCommand is CLIENT if it has arguments, and else a way to get at the client.
func jsClientCommand(c *call) value {
	if len(c.args) == 0 || c.args[0].from >= c.args[0].to {
		return c.recv
	}
	c.sent(false, "CLIENT")
	return nothing
}

// jsLibraries are the packages.
var jsLibraries = map[string]string{
	"ioredis": "ioredis", "iovalkey": "ioredis", "ioredis-mock": "ioredis", "@ioredis/commands": "ioredis",
	"redis": "module", "@redis/client": "module", "node-redis": "module", "redis-mock": "module", "async-redis": "module",
	"handy-redis":   "module",
	"promise-redis": "module", "valkey": "module", "fakeredis": "module", "tedis": "module", "@node-redis/client": "module",
	"redis4": "module",
	"bull":   "bull", "bullmq": "bullmq", "@taskforcesh/bullmq-pro": "bullmq",
	"@socket.io/redis-adapter": "adapters", "socket.io-redis": "adapters", "graphql-redis-subscriptions": "adapters",
}

// packaged are packages around a client, as of a framework: what they give is one by its name.
var packaged = regexp.MustCompile(`(?i)(?:^|[/@\-])(?:nestjs-(?:io)?redis|egg-redis|fastify-redis|` +
	`(?:@fastify|@liaoliaots|@nestjs-modules|@songkeys|@nestjs)/(?:nestjs-)?(?:io)?redis` +
	`|koa-redis|connect-redis|redlock|rate-limiter-flexible)$`)

func jsImport(w *walker, path string) (string, bool) {
	if sub, _, ok := strings.Cut(path, "/"); ok && !strings.HasPrefix(path, "@") && !strings.HasPrefix(path, ".") {
		path = sub
	}
	lib, ok := jsLibraries[path]
	switch lib {
	case "":
		if packaged.MatchString(path) {
			w.guessing("client")
		}
	case "module":
		w.guessing("node")
	default:
		w.guessing("client")
	}
	return lib, ok
}

// endPipe is the end of a transaction, or of a plain pipeline.
func endPipe(c *call) value {
	if c.recv.origin > 0 {
		c.relate(c.recv.origin, c.pos, "EXEC")
	} else if c.recv.shape == c.d.shapes["tx"] && c.last > 0 {
		c.relate(c.last, c.pos, "EXEC")
	}
	return nothing
}

// jsSend judges a command by its name, or one that was made of it.
func jsSend(c *call) value {
	if len(c.args) == 0 || c.is(c.args[0].from, "new") {
		return nothing
	}
	return byName(c)
}

// defined judges the number of keys of a script that becomes a method.
func defined(c *call) value {
	for _, a := range c.args {
		for i := a.from; i < a.to && i < a.from+maxLook; i++ {
			if c.is(i, "numberOfKeys") && c.is(i+1, ":") && c.at(i+2).kind == num {
				c.keys(c.at(i + 2).text)
			}
		}
	}
	return nothing
}

func jsEval(c *call) value {
	if len(c.args) > 1 && c.at(c.args[1].from).kind == num && c.args[1].to == c.args[1].from+1 {
		c.keys(c.at(c.args[1].from).text)
	}
	return nothing
}

// selected judges the number of the database.
func selected(c *call) value {
	if len(c.args) > 0 && c.at(c.args[0].from).kind == num && c.at(c.args[0].from).text != "0" {
		c.found("MC603", "a database other than 0", false)
	}
	return c.to
}
