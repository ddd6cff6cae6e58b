package lexical

import "strings"

var phpDialect = dialect{lang: PHP, self: "$this", imports: phpImport, classes: classes(
	[]string{"Redis", "PhpRedis", "Illuminate", "Hyperf", ""}, map[string]string{"Redis": "redis", "RedisCluster": "cluster",
		"RedisSentinel": "sentinel", "RedisArray": "redis"},
	[]string{"Predis"}, map[string]string{
		"Client ClientInterface": "predis", "MultiExec AbortedMultiExecException": "transaction", "Pipeline": "pipe",
	},
	[]string{"Illuminate"}, map[string]string{"RedisManager Factory Connection PhpRedisConnection PredisConnection LRedis": "redis"},
	[]string{"think", "yii", "Swoole", "Hyperf"}, map[string]string{"RedisFactory RedisProxy": "redis"},
), shapes: map[string]*shape{
	"redis": {title: "phpredis' Redis", commands: true, steps: steps(phpClient)},
	"cluster": {title: "RedisCluster", commands: true, steps: steps(phpClient, map[string]step{"()": ruledBy("MC601", "cluster",
		"a cluster client")})},
	"sentinel": {title: "RedisSentinel", steps: steps(map[string]step{"()": ruledBy("MC601", "sentinel", "a Sentinel")})},
	"predis": {title: "Predis' Client", commands: true, steps: steps(phpClient, map[string]step{"multi": {do: begin,
		to: "transaction"}})},
	"transaction": {title: "the transaction", commands: true, keeps: true, steps: steps(map[string]step{
		"exec execute discard": {do: endPHP}, "multi": {do: begin, self: true}, "rawCommand executeRaw": byNameStep,
		"pipeline": {self: true},
	})},
	"pubsub": {title: "Predis' PubSub", steps: steps(map[string]step{
		"subscribe": listens("SUBSCRIBE", "pubsub"), "psubscribe": listens("PSUBSCRIBE", "pubsub"),
		"unsubscribe": sends("UNSUBSCRIBE"), "punsubscribe": sends("PUNSUBSCRIBE"),
	})},
	"pipe": {title: "the pipeline", commands: true, keeps: true, steps: steps(map[string]step{
		"exec execute discard": {do: endPHP}, "multi": {do: begin, to: "transaction"}, "rawCommand executeRaw": byNameStep,
	})},
}}

var phpClient = map[string]step{
	"multi":       {to: "transaction", do: phpMulti},
	"transaction": {to: "transaction", yields: "transaction", tx: true, do: phpTransaction},
	"pipeline":    {to: "pipe", yields: "pipe", do: phpPipeline},
	"exec":        finishes("EXEC"),
	"discard":     finishes("DISCARD"),
	"connection getRedis getClient client driver getConnection connect getInstance handler store": {self: true},
	"connection resolve get_redis":         {self: true},
	"rawCommand executeRaw rawcommand":     byNameStep,
	"command createCommand executeCommand": byNameStep,
	"pubSubLoop pubSub pubSubContext":      listens("SUBSCRIBE", "pubsub"),
	"subscribe":                            listens("SUBSCRIBE", ""),
	"psubscribe pSubscribe":                listens("PSUBSCRIBE", ""),
	"script":                               sends("SCRIPT"),
	"config":                               {do: func(c *call) value { c.command("CONFIG"); return nothing }},
	"client_":                              {plain: true},
	"select":                               doing(selected),
	"get":                                  {plain: true},
	"eval":                                 doing(phpEval),
	"scan":                                 sends("SCAN"),
	"xRead xReadGroup xread xreadgroup": doing(func(c *call) value {
		name := fold(c.name)
		if len(c.args) >= 3 && name == "XREAD" && !c.args[2].value.konst && len(c.args) > 3 {
			c.found("MC302", name+" with BLOCK", false)
			return nothing
		}
		c.stream(name, false)
		return nothing
	}),
	"setOption getOption close auth ping": {plain: true},
	"time":                                {do: noArgs("TIME")},
	"save":                                {do: noArgs("SAVE")},
	"restore":                             sends("RESTORE"),
	"keys getKeys":                        sends("KEYS"),
}

func phpImport(w *walker, path string) (string, bool) {
	switch {
	case strings.HasPrefix(path, "Predis"):
		w.guessing("predis")
	case path == "Redis" || path == `PhpRedis\Redis` || strings.HasPrefix(path, `Illuminate\`) && strings.Contains(path, "Redis") ||
		strings.HasPrefix(path, `Hyperf\Redis`) || strings.HasPrefix(path, `Hyperf\Contract`) && strings.Contains(path,
		"Redis") || path == "RedisCluster":
		w.guessing("redis")
	default:
		return "", false
	}
	return "", true
}

// phpMulti is no transaction if it says PIPELINE.
func phpMulti(c *call) value {
	if len(c.args) > 0 && c.mentions("PIPELINE") {
		return value{shape: c.d.shapes["pipe"], known: true}
	}
	return begin(c)
}

// phpTransaction may WATCH also, by its options.
func phpTransaction(c *call) value {
	v := begin(c)
	for _, a := range c.args {
		for i := a.from; i < a.to && i < a.from+maxLook; i++ {
			if c.at(i).kind == open && c.at(i).text == "{" {
				break
			}
			if tok := c.at(i); tok.kind == text && tok.text == "watch" && c.is(i+1, "=>") {
				c.sent(false, "WATCH")
			}
		}
	}
	return v
}

// phpPipeline is a transaction if its options say atomic.
func phpPipeline(c *call) value {
	for _, a := range c.args {
		for i := a.from; i < a.to && i < a.from+12; i++ {
			if tok := c.at(i); tok.kind == text && tok.text == "atomic" && c.is(i+1, "=>") && (c.is(i+2, "true")) {
				return begin(c)
			}
		}
	}
	return c.to
}

func endPHP(c *call) value {
	if c.recv.origin > 0 {
		c.relate(c.recv.origin, c.pos, strings.ToUpper(c.name))
	} else if c.recv.shape == c.d.shapes["transaction"] && c.last > 0 {
		c.relate(c.last, c.pos, strings.ToUpper(c.name))
	}
	return nothing
}

// phpEval judges the number of keys: of phpredis it is the last argument, of Predis the second.
func phpEval(c *call) value {
	for _, at := range []int{1, 2} {
		if at < len(c.args) && c.at(c.args[at].from).kind == num && c.args[at].to == c.args[at].from+1 {
			c.keys(c.args[at].value.text)
			break
		}
	}
	return nothing
}
