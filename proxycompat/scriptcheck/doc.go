// Package scriptcheck analyzes a Lua script for EVAL without executing it, and reports the lines that will
// fail behind a proxy.
//
// A proxy reads the keys that are declared with EVAL, not the script. If a script uses another key, the
// server that received the script handles it. It may not own that key: the command returns nothing or
// writes to the wrong server, without an error. [CheckScript] finds such keys, and commands that the server
// behind the proxy lacks or forbids:
//
//	findings, err := scriptcheck.CheckScript(profile, script)
//
// Every rule has a constant below, such as [UndeclaredKey].
//
// # Analysis
//
// The script is parsed, never executed. CheckScript follows the origin of values (KEYS, ARGV, a reply of
// Redis, a literal) through local variables, tables, branches, loops and the script's own functions. It
// assumes that both branches of an if are possible, and follows a loop twice. If an important value cannot
// be followed, it reports [CannotTell]; such a value is, for example, an element of a table that holds both
// keys and other values.
//
// CheckScript does not see the arguments of EVAL. [proxycompat.Profile.Check] checks the number of KEYS,
// and whether the proxy permits EVAL at all.
package scriptcheck
