package lexical

import (
	"strings"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/analysis/rediscalls"
)

var goDialect = dialect{lang: Go, self: "\x00", imports: goImport, classes: map[string]class{}, shapes: map[string]*shape{
	"goredis": {title: "go-redis'", module: true, steps: steps(map[string]step{
		"NewClient": to("client"), "NewUniversalClient": to("client"),
		"NewClusterClient":  ruledBy("MC601", "client", "a cluster client"),
		"NewFailoverClient": ruledBy("MC601", "client", "a Sentinel"), "NewFailoverClusterClient": ruledBy("MC601", "client",
			"a Sentinel"),
		"NewRing": ruledBy("MC601", "client", "a ring"), "NewSentinelClient": ruledBy("MC601", "client", "a Sentinel"),
		"Client UniversalClient ClusterClient Ring Cmdable Conn UniversalClientWrapper": classOf("client"),
		"Tx": classOf("tx"), "Pipeliner Pipeline": classOf("pipe"), "PubSub": classOf("pubsub"),
		"NewCmd NewStatusCmd NewStringCmd NewIntCmd NewSliceCmd NewBoolCmd": doing(goNamed),
	})},
	"client": {title: "go-redis' Client", commands: true, steps: steps(goClient)},
	"tx":     {title: "go-redis' Tx", commands: true, steps: steps(goClient)},
	"pipe": {title: "go-redis' Pipeliner", commands: true, steps: steps(map[string]step{
		"Exec Discard TxPipeline TxPipelined Pipeline Pipelined": {self: true}, "Do": doing(goNamed),
	})},
	"pubsub": {title: "go-redis' PubSub", commands: true},

	"redigo": {title: "redigo's", module: true, steps: steps(map[string]step{
		"Dial DialURL DialContext DialTimeout DialURLContext": to("conn"), "Conn ConnWithTimeout ConnWithContext": classOf("conn"),
		"Pool": classOf("pool"), "NewPool": to("pool"), "PubSubConn": classOf("psc"),
		"DialClientName": ruledBy("MC602", "", "CLIENT SETNAME"), "NewScript": {plain: true},
	})},
	"conn": {title: "redigo's Conn", steps: steps(map[string]step{"Do Send DoContext SendContext DoWithTimeout": doing(goNamed)})},
	"pool": {title: "redigo's Pool", steps: steps(map[string]step{"Get GetContext": to("conn")})},
	"psc":  {title: "redigo's PubSubConn", commands: true, steps: map[string]step{"Conn": to("conn")}},

	"rueidis": {title: "rueidis", module: true, steps: steps(map[string]step{
		"NewClient": to("rueidis client"), "Client CoreClient DedicatedClient": classOf("rueidis client"), "Builder": classOf("builder"),
	})},
	"rueidis client": {title: "rueidis' Client", steps: steps(map[string]step{
		"B": to("builder"), "Receive": {plain: true}, "Dedicate": to("rueidis client"), "Dedicated": {yields: "rueidis client"},
	})},
	"builder": {title: "rueidis' Builder", commands: true, steps: steps(map[string]step{"Arbitrary": doing(goNamed)})},

	"radix": {title: "radix'", module: true, steps: steps(map[string]step{"Cmd FlatCmd": doing(goNamed),
		"Client Conn Pool": classOf("radix conn"), "Dial NewPool": to("radix conn")})},
	"radix conn": {title: "radix'", steps: steps(map[string]step{"Cmd PipeAppend": doing(goNamed)})},
}}

var goClient = map[string]step{
	"Watch":                        {commands: []string{"WATCH"}, yields: "tx"},
	"TxPipeline":                   {to: "pipe", do: begin},
	"TxPipelined":                  {yields: "pipe", do: begin},
	"Pipeline":                     to("pipe"),
	"Pipelined":                    {yields: "pipe"},
	"Do":                           doing(goNamed),
	"Subscribe":                    listens("SUBSCRIBE", "pubsub"),
	"PSubscribe":                   listens("PSUBSCRIBE", "pubsub"),
	"SSubscribe":                   listens("SSUBSCRIBE", "pubsub"),
	"WithContext WithTimeout Conn": {self: true},
	"XRead XReadGroup":             doing(goStream),
	"ConfigSet":                    doing(func(c *call) value { c.command("CONFIG"); return nothing }),
	"Wait":                         sends("WAIT"),
	"Time":                         sends("TIME"),
	"Context Options PoolStats Close AddHook ForEachMaster": {plain: true},
}

// goLibraries are what a client's package declares, and what a name in a file that imports it
// may well be.
var goLibraries = map[rediscalls.Name]struct{ shape, guess string }{
	rediscalls.GoRedis: {"goredis", "client"},
	rediscalls.Redigo:  {"redigo", "conn"},
	rediscalls.Rueidis: {"rueidis", "rueidis client"},
	rediscalls.Radix:   {"radix", "radix conn"},
}

func goImport(w *walker, path string) (string, bool) {
	client, known := rediscalls.LibraryOfPath(path)
	lib, spoken := goLibraries[client.Name]
	if !known || !spoken {
		return "", false
	}
	w.guessing(lib.guess)
	return lib.shape, true
}

// goNamed judges a command by its name: the first text among the arguments, behind a ctx.
func goNamed(c *call) value {
	for i, a := range c.args {
		if i > 1 {
			break
		}
		if _, ok := c.nameOf(a); ok {
			c.named(a)
			return c.to
		}
	}
	last := min(1, len(c.args)-1)
	if last >= 0 && c.dynamic(c.args[last]) && !strings.EqualFold(c.at(c.args[last].from).text, "ctx") &&
		c.args[last].to == c.args[last].from+1 {
		c.keep()
		c.tell(c.pos, "MC902", "a command whose name is not to be seen, through "+c.through())
	}
	return c.to
}

func goStream(c *call) value {
	if c.mentions("Block") {
		c.stream(fold(c.name), false)
		return nothing
	}
	// go-redis blocks unless it is told not to.
	c.keep()
	c.walker.found(c.pos, "MC302", fold(c.name)+" with BLOCK through "+c.through(), false)
	return nothing
}
