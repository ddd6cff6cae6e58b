// Package lexical finds what a proxy does not carry out in files that no compiler looked at:
// those of other languages, and Go files that are not built.
//
// # What it promises
//
// A file counts only if it imports a client of Redis, takes a thing that is called one from a
// module of its own, or is handed one: then it is called after Redis, calls something a client,
// or has a method that only clients have, such as bzpopmin. It is taken apart as its language says, so that comments, strings,
// what stands in a string between the signs for it, and regular expressions are what they are.
// Then what is a client, a pipeline, a transaction or a subscription is followed, through
// declarations with a type, assignments, fields, parameters, what functions return, and what a
// library hands to a function that it is given. A method counts by what it is called on: watch
// of a file system and publish of another bus are none of its business, also in a file that
// uses Redis as well. Only of a thing of which nothing is known does a name decide: what is
// called redis, redisClient or jedis is taken for a client; so is what has a method that only
// clients have; and what is called a client or a connection, if the method is one that clients
// share with few others, and the file imports nothing that has such things too.
//
// A comment with migratecheck:ignore in it is a directive in every language.
//
// Every finding has the rule of what it is about, such as MC101, so that one can choose by it;
// that it comes from here is said by its confidence, which is low, and its severity, which is
// that of a warning. MC902 is only for what is clearly Redis and not clearly anything else,
// such as a command whose name is a parameter. EXEC and DISCARD belong to the transaction that
// they end, and are related places of its finding.
//
// These libraries are known:
//
//   - Go: go-redis, redigo, rueidis, valkey-go, radix
//   - Java and Kotlin: Jedis, Lettuce, Redisson, Spring Data Redis
//   - Python: redis-py with its asyncio, aioredis, redis-py-cluster, django-redis, and those
//     that are made like redis-py
//   - JavaScript and TypeScript: ioredis, node-redis, bull, BullMQ, and the adapters of
//     socket.io and GraphQL
//   - C#: StackExchange.Redis and its Extensions, ServiceStack.Redis, CSRedis, FreeRedis
//   - PHP: phpredis, Predis, Laravel's Redis
//   - Ruby: redis-rb, redis-client, redis-namespace, and what Sidekiq and a pool hand out
//   - Lua: scripts for Redis, by proxycompat/scriptcheck
//
// # What it cannot see
//
// Nothing is followed from one file to another, so a client that comes from elsewhere under a
// name that says nothing is missed, and so is what a wrapper does with a command it is told. A
// declared type that is not a library's is taken to be something else, also if it is derived
// from one in another file. Java's reflection, Python's getattr, JavaScript's client[name] and
// Ruby's send are not followed. Keys are not looked at. What a library does behind a method
// that does not say so is known only for queues: Redisson's locks subscribe, and
// ScriptEvaluate of StackExchange.Redis may load scripts, and neither is reported. Of a command
// that is sent only under a condition it is assumed that it is sent.
package lexical
