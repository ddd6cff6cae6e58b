// Package rediscalls finds the calls of a package that send commands to Redis, or get
// ready to. The analyzers that judge such calls build on it, so that each call is
// resolved once.
//
// # Types decide
//
// A call counts by the function that it calls, never by a name: Watch of a file watcher,
// of etcd or of Kubernetes is none of its business. These clients are known, with all
// their major versions, also vendored, forked under another path, embedded in a struct, or
// behind an interface of the user's own whose methods have the client's types:
//
//   - go-redis v2 to v9: its typed methods, Do, and the New…Cmd functions behind Process
//   - redigo: Do, Send and their like, PubSubConn
//   - rueidis and valkey-go: their builders, and Arbitrary
//   - radix up to v4: Cmd, FlatCmd
//   - go-zero's stores/redis and GoFrame's gredis: what they offer on top of go-redis
//
// # What a command's name may be
//
// Where a command is a text it may be a constant, also of another package or put together
// of constants, or what constants are put into: a variable, a field, a list, a map, the
// results of a function of the package. Several are possible then. If anything else may be
// put there, the call is [Call.Unknown], too, and it is for the reader to look.
//
// A function that sends what it is given is a helper, and the command is found where the
// helper is called: also one in a variable or a field, and one behind a method of an
// interface that is declared beside it.
package rediscalls
