// Package rediscalls finds the calls of a package that send commands to Redis, or prepare
// them. The analyzers share its result, so that each call is resolved once.
//
// # Types decide
//
// A call counts by its function, never by a name: Watch of a file watcher,
// of etcd or of Kubernetes is ignored. The package knows these clients with all
// their major versions, also vendored, forked under another path, embedded in a struct, or
// behind an interface of the user's own with the client's types in its methods:
//
//   - go-redis v2 to v9: its typed methods, Do, and the New…Cmd functions behind Process
//   - redigo: Do, Send and their like, PubSubConn
//   - rueidis and valkey-go: their builders, and Arbitrary
//   - radix up to v4: Cmd, FlatCmd
//   - go-zero's stores/redis and GoFrame's gredis: their methods on top of go-redis
//
// # Names of commands
//
// The name of a command may be a constant, also of another package, a concatenation
// of constants, or a variable, a field, a list, a map, or the
// result of a function of the package that holds constants. Several names are possible then. If other
// values are possible, too, the call is [Call.Unknown].
//
// A function that sends a parameter as the name of a command is a helper. The command is found at the call of the
// helper: also of one in a variable or a field, and of one behind a method of an
// interface that is declared beside it.
package rediscalls
