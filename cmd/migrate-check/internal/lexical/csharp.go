package lexical

import "strings"

var csharpDialect = dialect{lang: CSharp, self: "this", imports: csharpImport, classes: csharpClasses, shapes: csharpShapes}

const (
	stackExchange = "StackExchange.Redis"
	serviceStack  = "ServiceStack.Redis"
)

func csharpImport(w *walker, path string) (string, bool) {
	switch {
	case strings.HasPrefix(path, stackExchange):
		w.guessing("database")
	case strings.HasPrefix(path, serviceStack):
		w.guessing("service stack")
	case path == "CSRedis" || path == "FreeRedis":
		w.guessing("csredis")
	default:
		return "", false
	}
	return "", true
}

var csharpClasses = classes(
	[]string{stackExchange}, map[string]string{
		"IConnectionMultiplexer ConnectionMultiplexer": "multiplexer",
		"IDatabase IDatabaseAsync IRedis IRedisAsync":  "database",
		"ISubscriber": "subscriber", "ITransaction": "transaction", "IBatch": "batch", "IServer": "server",
		"IRedisDatabase IRedisCacheClient": "extension", "ChannelMessageQueue": "messages",
	},
	[]string{serviceStack}, map[string]string{
		"IRedisClient RedisClient IRedisNativeClient RedisNativeClient IRedisTypedClient":                                  "service stack",
		"IRedisClientsManager PooledRedisClientManager BasicRedisClientManager RedisManagerPool IRedisClientsManagerAsync": "service stack manager",
		"IRedisSubscription RedisPubSubServer": "service stack subscription",
	},
	[]string{"CSRedis", "FreeRedis"}, map[string]string{"CSRedisClient RedisHelper RedisClient": "csredis"},
)

var csharpShapes = map[string]*shape{
	"multiplexer": {title: "ConnectionMultiplexer", module: true, steps: steps(map[string]step{
		"Connect ConnectAsync SentinelConnect": to("multiplexer"), "GetDatabase": {to: "database", do: database},
		"GetSubscriber":        to("subscriber"),
		"GetServer GetServers": to("server"),
	})},
	"database": {title: "IDatabase", steps: steps(map[string]step{
		"CreateTransaction": {to: "transaction", do: begin}, "CreateBatch": to("batch"), "Multiplexer": to("multiplexer"),
		"GetSubscriber": to("subscriber"), "GetServer GetServers": to("server"), "GetDatabase": {self: true, do: database},
		"Publish PublishAsync": sends("PUBLISH"),
		"Execute ExecuteAsync": byNameStep,
		"KeyRename":            {do: renamed}, "KeyRenameAsync": {do: renamed},
		"KeyMove KeyMoveAsync":     sends("MOVE"),
		"KeyRandom KeyRandomAsync": sends("RANDOMKEY"), "KeyMigrate KeyMigrateAsync": sends("MIGRATE"),
		"KeyRestore KeyRestoreAsync":                                            sends("RESTORE"),
		"StringBitOperation StringBitOperationAsync":                            sends("BITOP"),
		"KeyIdleTime KeyIdleTimeAsync KeyEncoding KeyEncodingAsync KeyRefCount": sends("OBJECT"),
		"LockRelease LockReleaseAsync LockExtend LockExtendAsync":               sends("MULTI", "EXEC"),
		"StreamRead StreamReadAsync":                                            sends("XREAD"),
		"StreamReadGroup StreamReadGroupAsync":                                  sends("XREADGROUP"),
	})},
	"batch": {title: "IBatch", steps: steps(map[string]step{
		"Execute": {plain: true}, "PublishAsync": sends("PUBLISH"),
	})},
	"transaction": {title: "ITransaction", steps: steps(map[string]step{
		"AddCondition": sends("WATCH"), "Execute ExecuteAsync": {do: csharpExecute}, "PublishAsync": sends("PUBLISH"),
	})},
	"subscriber": {title: "ISubscriber", steps: steps(map[string]step{
		"Subscribe SubscribeAsync": listens("SUBSCRIBE", "messages"), "Publish PublishAsync": sends("PUBLISH"),
		"Unsubscribe UnsubscribeAsync UnsubscribeAll UnsubscribeAllAsync": sends("UNSUBSCRIBE"), "Multiplexer": to("multiplexer"),
	})},
	"messages": {title: "ChannelMessageQueue", steps: steps(map[string]step{"Unsubscribe UnsubscribeAsync": sends("UNSUBSCRIBE")})},
	"server": {title: "IServer", steps: steps(map[string]step{
		"Keys KeysAsync":                           sends("SCAN"),
		"FlushDatabase FlushDatabaseAsync":         sends("FLUSHDB"),
		"FlushAllDatabases FlushAllDatabasesAsync": sends("FLUSHALL"),
		"ConfigGet ConfigGetAsync":                 sends("CONFIG"),
		"ConfigSet ConfigSetAsync":                 {do: func(c *call) value { c.command("CONFIG"); return nothing }},
		"ScriptLoad ScriptLoadAsync ScriptExists ScriptExistsAsync ScriptFlush ScriptFlushAsync": sends("SCRIPT"),
		"DatabaseSize DatabaseSizeAsync": sends("DBSIZE"), "Time TimeAsync": sends("TIME"), "ClientList ClientListAsync": sends("CLIENT"),
		"LastSave LastSaveAsync": sends("LASTSAVE"), "Save SaveAsync": sends("SAVE"), "SlowlogGet SlowlogGetAsync": sends("SLOWLOG"),
		"Execute ExecuteAsync": byNameStep, "Multiplexer": to("multiplexer"),
	})},
	"extension": {title: "IRedisDatabase", steps: steps(map[string]step{
		"Database": to("database"), "PublishAsync Publish": sends("PUBLISH"), "SubscribeAsync Subscribe": sends("SUBSCRIBE"),
		"UnsubscribeAsync UnsubscribeAllAsync": sends("UNSUBSCRIBE"), "SearchKeysAsync SearchKeys": sends("SCAN"),
		"FlushDbAsync": sends("FLUSHDB"),
	})},

	"service stack": {title: "ServiceStack's client", steps: steps(map[string]step{
		"CreateTransaction CreateTransactionAsync": {to: "service stack transaction", do: begin},
		"Watch WatchAsync":                         sends("WATCH"), "UnWatch UnWatchAsync": sends("UNWATCH"),
		"PublishMessage PublishMessageAsync Publish": sends("PUBLISH"),
		"CreateSubscription CreateSubscriptionAsync": to("service stack subscription"),
		"SearchKeys GetAllKeys Keys":                 sends("KEYS"), "ScanAllKeys GetKeysByPattern Scan": sends("SCAN"),
		"RenameKey Rename": sends("RENAME"),
		"BlockingDequeueItemFromList BlockingRemoveStartFromList": sends("BLPOP"), "BlockingPopItemFromList": sends("BRPOP"),
		"BlockingPopAndPushItemBetweenLists": sends("BRPOPLPUSH"), "GetRandomKey RandomKey": sends("RANDOMKEY"), "Custom": byNameStep,
		"FlushDb": sends("FLUSHDB"), "FlushAll": sends("FLUSHALL"), "BLPop": sends("BLPOP"), "BRPop": sends("BRPOP"),
		"Multi": {do: begin}, "As": {self: true},
		"BlockingDequeueItemFromLists": sends("BLPOP"), "LoadLuaScript": sends("SCRIPT"), "Subscribe": sends("SUBSCRIBE"),
		"PSubscribe":     sends("PSUBSCRIBE"),
		"CreatePipeline": {plain: true},
	})},
	"service stack manager": {title: "ServiceStack's manager", steps: steps(map[string]step{
		"GetClient GetReadOnlyClient GetClientAsync": to("service stack"),
	})},
	"service stack transaction": {title: "ServiceStack's transaction",
		steps: steps(map[string]step{"Commit CommitAsync Rollback": {do: csharpExecute}})},
	"service stack subscription": {title: "ServiceStack's subscription", steps: steps(map[string]step{
		"SubscribeToChannels SubscribeToChannelsAsync": sends("SUBSCRIBE"), "SubscribeToChannelsMatching": sends("PSUBSCRIBE"),
	})},
	"csredis": {title: "CSRedisClient", module: true, commands: true, steps: steps(map[string]step{
		"StartPipe": {plain: true}, "Multi": {do: begin}, "Instance": {self: true}, "Get": {plain: true}, "Eval": {plain: true},
		"Call":                                 byNameStep,
		"SubscribeList SubscribeListBroadcast": sends("BRPOP"), "Publish PublishAsync": sends("PUBLISH"),
		"Subscribe": listens("SUBSCRIBE", ""), "PSubscribe": listens("PSUBSCRIBE", ""),
		"()": to("csredis"), "Lock": {plain: true}, "GetDatabase": {self: true},
	})},
}

// usesStackExchange reports whether the file uses the library without naming it: the project
// does for all its files, or the file is in a namespace below.
func (w *walker) usesStackExchange() bool {
	for i := range w.all {
		if w.at(i).kind != word {
			continue
		}
		switch w.at(i).text {
		case "IConnectionMultiplexer", "ConnectionMultiplexer", "RedisChannel", "RedisValue", "RedisKey":
			return true
		case "GetSubscriber", "CreateTransaction":
			if w.member(i-1) && w.is(i+1, "(") {
				return true
			}
		}
	}
	return false
}

// renamed is RENAME, or RENAMENX.
func renamed(c *call) value {
	if c.mentions("NotExists") {
		c.sent(false, "RENAMENX")
	} else {
		c.sent(false, "RENAME")
	}
	return nothing
}

// database judges the number of the database.
func database(c *call) value {
	if a, ok := c.arg("db", 0); ok && a.to == a.from+1 && c.at(a.from).kind == num && c.at(a.from).text != "0" {
		c.found("MC603", "a database other than 0", false)
	}
	return c.to
}

func csharpExecute(c *call) value {
	if c.recv.origin > 0 {
		c.relate(c.recv.origin, c.pos, "EXEC")
	} else if c.last > 0 {
		c.relate(c.last, c.pos, "EXEC")
	}
	return nothing
}
