// Package redisscripts defines an analyzer for Lua scripts that do not work behind a proxy.
//
// # Analyzer redisscripts
//
// redisscripts: find Lua scripts that do not work behind a proxy
//
// A proxy routes a script by its first key, and never looks into it. What is found:
//
//   - MC501: several keys that are not proven to share a slot
//   - MC502: no keys at all
//   - MC503: keys that the script uses and that are not in KEYS
//   - MC504: commands that do not work in a script, or that nobody hears, as PUBLISH
//   - MC505: SCRIPT LOAD, EXISTS and FLUSH, and EVALSHA without EVAL when it fails
//
// Scripts are those of go-redis' Eval and NewScript, redigo's NewScript, rueidis' NewLuaScript
// and builders, radix' NewEvalScript, and EVAL by its name. Their text may be a constant, put
// together of constants, or embedded by go:embed. It is read by package
// github.com/unwatch/unwatch/proxycompat/scriptcheck; what a proxy does is what its profile
// says: see package profile.
//
// The category of a diagnostic is its rule, with a severity behind a slash where it is not
// that of the rule: "MC501/error" is about keys that are proven to be in different slots, and
// "MC504/note" about a script that cannot be read before it runs.
package redisscripts
