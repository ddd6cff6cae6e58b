// Package redisunknown defines an analyzer for commands whose name is not known before the
// program runs.
//
// # Analyzer redisunknown
//
// redisunknown: find commands whose name the code does not tell
//
// A name that comes from a configuration, a field, or a caller elsewhere may be that of a
// command that a proxy refuses (MC901). It is told where the name is lost: in a helper that
// is given the name of a command, it is the call that gives it one.
package redisunknown
