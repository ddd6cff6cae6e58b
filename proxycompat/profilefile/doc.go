// Package profilefile reads the profile of your own proxy from a YAML or JSON file.
//
// A proxy may be patched, configured, or in front of servers of another version, so that no profile of
// [proxycompat.Lookup] describes it exactly. A file lists the differences:
//
//	name: rooms-proxy         # required, one word in lower case
//	title: Codis of the rooms
//	about: Codis 3.2 with our patch for GETEX
//	base: codis@3.2           # the profile that it changes
//	backend: "6.2"            # the version of the Redis behind it
//	refusal: ERR '%s' is not allowed
//	hash: codis               # codis, cluster, config or none
//	hashTag: "{}"             # only where it is configured, so with hash: config
//	idle: 30m                 # after which it closes a connection, or never
//	clients: 1000             # it accepts at most, or unlimited
//	commands:
//	  - command: [GETEX, "CLIENT ID"]
//	    verdict: ok
//	    why: passed on since our patch
//	    source: "observed: build 1234 over Redis 6.2"
//	  - command: "*"
//	    verdict: refused
//	    why: not in the command table
//	    source: our configuration
//
// A rule may also have instead, error, args, route and keys; these are the fields of [proxycompat.Changes]
// and [proxycompat.RuleChange]. For a proxy that closes the connection on a refused command, write closes:
// true instead of refusal. The key $schema is ignored.
//
//	profile, err := profilefile.Load("rooms-proxy.yaml")
//
// JSON is read as YAML, which lacks two escapes of JSON: \/ and surrogate pairs.
//
// # Errors
//
// All unknown keys and values of a wrong type are reported at once, one line each, as file:line: text. Another
// error is reported alone. An invalid rule has the line of its entry.
//
// Functions of this package may be called concurrently.
package profilefile
