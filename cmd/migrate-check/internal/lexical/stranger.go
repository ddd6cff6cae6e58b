package lexical

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// telling are methods that only clients of Redis have: in a file that uses Redis they count
// whatever they are called on, as long as it is not known to be something else. Spellings that
// others have as well, as memcached's flush_all, are not among them.
var telling = words("blpop brpop brpoplpush blmove blmpop bzpopmin bzpopmax bzmpop flushdb flushall scan_iter scaniterator " +
	"scanstream scanbufferstream scan_each psubscribe punsubscribe ssubscribe sunsubscribe spublish evalsha evalshaasync " +
	"config_set script_load scriptload script_flush scriptflush script_exists scriptexists register_script client_list client_kill " +
	"client_setname client_getname clientlist dbsize bgsave bgrewriteaof lastsave slowlog_get msetnx renamenx bitop randomkey " +
	"xread xreadgroup xread_group unwatch")

// shared are methods that other things have as well: they count only if what they are called
// on has the name of a connection, and nothing else in the file can be meant.
var (
	dataMethods = words("pipeline multi keys scan eval client")
	busMethods  = words("publish subscribe unsubscribe")
)

func words(list string) map[string]bool {
	all := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		all[w] = true
	}
	return all
}

// what stands before the name of a connection and does not say that it is another's.
const adjective = `^[_@$#]*(?:(?:raw|pub|sub|main|master|slave|primary|replica|read|write|blocking|new|my|test|inner|original|io|cache|` +
	`queue|the|default|shared|publish|subscribe|redis)_?)?`

var (
	dataName = regexp.MustCompile(`(?i)` + adjective + `(?:conn|connection|client|node|storage)$|redis_?(?:store|cache)$`)
	busName  = regexp.MustCompile(`(?i)` + adjective + `(?:conn|connection|client|pub|sub|publisher|subscriber)$`)
	pipeName = regexp.MustCompile(`^_*(?:pipe|pipeline)$`)
)

// others are libraries whose things are called a client or a connection as well, by what their
// paths have in them.
var others = regexp.MustCompile(`(?i)mqtt|kafka|amqp|nats|zmq|zeromq|rabbit|stomp|pika|nsq|pulsar|rxjs|pusher|ably|paho|pubnub|` +
	`google.cloud|aws|boto|dynamo|elastic|opensearch|hbase|happybase|memcache|psycopg|sqlalchemy|kubernetes|websocket|grpc|etcd|` +
	`consul|zookeeper|kazoo|mongo|mysql|asyncpg|postgres|faye|bunny`)

// clustered are classes of redis-py that are told by their name, whatever the module is called.
var clustered = []string{"Sentinel", "RedisCluster"}

// stranger judges a method of a thing of which nothing is known, but that this is a file that
// uses Redis. The result is what the thing is taken for.
func (w *walker) stranger(i, args int) *shape {
	if w.guess == nil {
		return nil
	}
	name := strings.ToLower(w.at(i).text)
	if w.d.lang == CSharp {
		return w.strangerOfCSharp(i)
	}
	if telling[name] {
		return w.clientShape()
	}
	if s := w.d.shapes["module"]; w.d.lang == Python && s != nil && slices.Contains(clustered, w.at(i).text) {
		return s
	}
	if w.d.lang != Python && w.d.lang != JS && w.d.lang != PHP && w.d.lang != Ruby || w.unsure {
		return nil
	}
	owner := w.owner(i)
	given := w.given(args)
	switch {
	case w.d.lang == Python && pipeName.MatchString(owner) && name == "watch" && given:
		return w.d.shapes["pipe"]
	case w.rivals:
	case dataMethods[name] && dataName.MatchString(owner):
		switch name {
		case "keys", "scan":
			return w.ifOf(given)
		case "eval":
			return w.ifOf(w.numbered(args))
		case "client":
			return w.ifOf(w.is(args, "(") && subcommand.MatchString(w.textAt(args+1)))
		}
		return w.clientShape()
	case name == "transaction" && w.d.lang == Python && dataName.MatchString(owner):
		return w.ifOf(given && w.at(args+1).kind == word)
	case busMethods[name] && (busName.MatchString(owner) || w.d.lang == Python && strings.Trim(owner, "_") == "pubsub"):
		return w.ifOf(given || name == "unsubscribe")
	}
	return nil
}

// subcommand is one of CLIENT.
var subcommand = regexp.MustCompile(`(?i)^(?:setname|getname|list|kill|id|info|pause|unpause|reply|tracking|no-evict|setinfo|unblock)$`)

func (w *walker) textAt(i int) string {
	if tok := w.at(i); tok.kind == text {
		return tok.text
	}
	return ""
}

// given reports whether there are arguments, in brackets or, in Ruby, without.
func (w *walker) given(args int) bool {
	if w.is(args, "(") {
		return w.at(args).match > args+1
	}
	return w.d.lang == Ruby && !w.at(args).nl && w.at(args).kind != sign && w.at(args).kind != clos
}

func (w *walker) ifOf(ok bool) *shape {
	if ok {
		return w.clientShape()
	}
	return nil
}

// numbered reports whether the second argument is a number, as that of EVAL is.
func (w *walker) numbered(args int) bool {
	if !w.is(args, "(") {
		return false
	}
	comma := w.comma(args+1, w.at(args).match)
	return w.at(comma+1).kind == num
}

// clientShape is that of a client, whichever the file uses.
func (w *walker) clientShape() *shape {
	if w.guess.commands {
		return w.guess
	}
	return nil
}

// owner is the name of what a method is called on: a variable, a field, or the function that
// returns it.
func (w *walker) owner(i int) string {
	j := i - 2
	if w.is(j, ")") {
		j = w.at(j).match - 1
	}
	if w.at(j).kind != word {
		return ""
	}
	return w.at(j).text
}

// strangersOfCSharp are the methods that only StackExchange.Redis has.
var strangersOfCSharp = map[string][]string{
	"multiplexer": {"GetSubscriber"},
	"database":    {"CreateTransaction", "StringBitOperation", "StringBitOperationAsync", "KeyRename", "KeyRenameAsync"},
	"server":      {"FlushDatabase", "FlushDatabaseAsync", "FlushAllDatabases", "FlushAllDatabasesAsync"},
}

// databaseName is what a database of Redis is called: a unit of work makes transactions, too.
var databaseName = regexp.MustCompile(`(?i)redis|^_*(?:\w*db|database|cache|server)$`)

func (w *walker) strangerOfCSharp(at int) *shape {
	name := w.at(at).text
	if w.guess != w.d.shapes["database"] {
		return nil
	}
	for of, names := range strangersOfCSharp {
		if slices.Contains(names, name) && (name == "GetSubscriber" || databaseName.MatchString(w.owner(at))) {
			return w.d.shapes[of]
		}
	}
	return nil
}

// foreign remembers an import that is none of a client of Redis.
func (w *walker) foreign(path string) {
	if others.MatchString(path) {
		w.rivals = true
	}
}

// redisFile is the name of a file that is about Redis.
var redisFile = regexp.MustCompile(`(?i)redis|valkey`)

// tells reports whether a method is called somewhere that only Redis has.
func (w *walker) tells() bool {
	for i := range w.all {
		if w.at(i).kind == word && telling[strings.ToLower(w.at(i).text)] && w.member(i-1) && w.is(i+1, "(") {
			return true
		}
	}
	return false
}

// unnamed looks for a client in a file that imports none, but is handed one. It is certain if
// the file is called after Redis, or has a method that only Redis has. Otherwise something has
// to be called a client, with something called on it, and what merely may be one does not
// count.
func (w *walker) unnamed() {
	if w.d.lang == CSharp && w.usesStackExchange() {
		w.paths = append(w.paths, stackExchange+".")
		w.guessing("database")
		return
	}
	shape := map[Language]string{Python: "client", JS: "client", PHP: "redis"}[w.d.lang]
	if shape == "" {
		return
	}
	if redisFile.MatchString(path.Base(w.path)) || w.tells() {
		w.guessing(shape)
		return
	}
	for i := range w.all {
		tok := w.at(i)
		if tok.kind != word || !clientName.MatchString(tok.text) || otherName.MatchString(tok.text) || !w.nameFits(tok.text) ||
			w.is(i-1, "import") || w.is(i-1, "from") {
			continue
		}
		j := i + 1
		if w.member(j) && plainClient.MatchString(w.at(j+1).text) {
			j += 2
		}
		if w.member(j) && w.at(j+1).kind == word && w.is(j+2, "(") || j > i+1 {
			w.unsure = true
			w.guessing(shape)
			return
		}
	}
}
