// Package custom reads the profile of a proxy of your own from a YAML or JSON
// file.
//
// Proxies are patched, configured and put in front of servers of all ages, so
// the one you have is rarely the one that [proxycompat.Lookup] knows. A file
// says in what it differs:
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
// A rule may also have instead, error, args, route and keys; all these are the
// fields of [proxycompat.Changes] and [proxycompat.RuleChange]. A proxy that
// closes the connection on a command, instead of answering, has closes: true in
// place of refusal. [Schema] describes each key, and makes an editor check them.
//
//	profile, err := custom.Load("rooms-proxy.yaml")
//
// # Errors
//
// All that is wrong with a file is reported at once, in the order of its lines,
// one line each, as file:line:column: text. Only what is no YAML or JSON at all
// is reported by itself.
//
// # What is not read
//
// A file is small and says what it says: no aliases, no merge keys, one
// document, UTF-8, at most [MaxSize] bytes. What YAML would silently take for
// something else, such as a text that is a number, has to be quoted.
//
// Functions of this package may be called concurrently.
package custom
