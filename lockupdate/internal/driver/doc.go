// Package driver turns the requests of a Store into commands on one key, and their
// replies into results. It sends nothing and keeps no state.
//
// There are two drivers. The Lua driver runs scripts. The native driver uses the
// server's own compare-and-set, for servers without Lua. Both have the same guard.
//
// Its only import from above the standard library is go-redis, for the command type,
// and package rmw, for keys and values.
package driver
